#!/usr/bin/env bash
# Implements `make test-numa`, which tests thread pinning on a machine with two NUMA domains that qemu emulates. The
# last line of output is `N passed, 0 failed`.
#
#     tests/numa_guest.sh PROGRAM
#
# The guest has two nodes with two processors each, a Debian kernel, and an initial RAM disk with busybox, the program
# and its libraries. It needs no disk, no network and no root privileges on the host. The test takes about a minute,
# because every instruction is emulated. The variable KERNEL selects a different kernel. On Debian and Ubuntu, the
# script installs missing packages; other systems need qemu-system-x86_64, a static busybox and cpio.
set -euo pipefail
cd "$(dirname "$0")/.."

program=$(realpath "${1:?the program to test}")
work=target/numa
mkdir -p $work

if [ "$(uname -m)" != x86_64 ]; then
    echo "skipped: the guest is an x86-64 one, and has the program of this machine"
    exit
fi

lacking=()
command -v qemu-system-x86_64 > /dev/null || lacking+=(qemu-system-x86)
command -v cpio > /dev/null || lacking+=(cpio)
busybox=$(command -v busybox || true)
[ -n "$busybox" ] || lacking+=(busybox-static)
if [ ${#lacking[@]} -gt 0 ]; then
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
    if ! command -v apt-get > /dev/null; then
        echo "This takes ${lacking[*]}, and there is no apt-get to install them" >&2
        exit 1
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "${lacking[@]}" > /dev/null
    busybox=$(command -v busybox)
fi

# Downloads a kernel image, because only root may read the image of this machine's kernel.
mkdir -p $work/kernel
kernel=${KERNEL:-$(find $work/kernel -name 'vmlinuz-*' | head -n 1)}
if [ -z "$kernel" ]; then
    package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ { print $2 }' | head -n 1)
    (cd $work && apt-get -qq download "${package:?no kernel in this release; set KERNEL}" 2> /dev/null)
    dpkg-deb -x $work/"$package"_*.deb $work/kernel
    kernel=$(find $work/kernel -name 'vmlinuz-*' | head -n 1)
fi

# --- the initial RAM disk -------------------------------------------------------------------------------------------------

root=$work/root
rm -rf $root
mkdir -p $root/{bin,dev,proc,sys,tmp}
cp "$busybox" $root/bin/busybox
if ldd $root/bin/busybox > /dev/null 2>&1; then
    echo "$busybox is not static; install busybox-static" >&2
    exit 1
fi
cp "$program" $root/bin/einsum-dist
strip $root/bin/einsum-dist 2> /dev/null || true
ldd "$program" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done

cat > $root/init <<'END'
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin EINSUM_DIST_RATES=default
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
cd /tmp
echo "report $(einsum-dist "mk,kn->mn" -s 96 --check --json)"
echo "four $(einsum-dist "mk,kn->mn" -s 96 -n 4 --json)"
echo "mask $(taskset 8 einsum-dist "mk,kn->mn" -s 96 --json)"
einsum-dist "mk,kn->mn" -s m=8,k=4096,n=2048 --algorithm grid --repeat 1000000 -v 2>&1 | sed 's/^/verbose /' &
sleep 1
pid=$(pidof einsum-dist)
# Wait until both ranks have allocated their blocks of the right operand, which have 16 MB each.
for _ in $(seq 60); do
    sleep 1
    [ "$(ls /proc/$pid/task 2> /dev/null | wc -l)" -ge 5 ] && break
done
sleep 10
# Every run starts new threads, and a thread that ends while it is being read prints nothing, so read all threads
# several times.
for _ in $(seq 5); do
    for task in /proc/$pid/task/*; do
        echo "thread $(cat $task/comm 2> /dev/null): $(awk '/^Cpus_allowed_list/ { print $2 }' $task/status 2> /dev/null)"
    done
done
awk '{ size = /kernelpagesize_kB=2048/ ? 2048 : 4
       for (i = 1; i <= NF; i++) if (/anon=/ && $i ~ /^N[01]=/) { split($i, n, "="); kb[n[1]] += n[2] * size } }
     END { print "memory N0 " kb["N0"] + 0 " kB, N1 " kb["N1"] + 0 " kB" }' /proc/$pid/numa_maps
echo "huge $(awk '/^AnonHugePages/ { kb += $2 } END { print kb + 0 }' /proc/$pid/smaps)"
echo the end
poweroff -f
END
chmod +x $root/init
(cd $root && find . | cpio --quiet -o -H newc | gzip -1) > $work/initrd

# --- the guest ------------------------------------------------------------------------------------------------------------

timeout 600 qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 4,sockets=2,cores=2 -m 2G -nodefaults -no-user-config \
    -display none -serial stdio -no-reboot \
    -object memory-backend-ram,id=m0,size=1G -object memory-backend-ram,id=m1,size=1G \
    -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 \
    -kernel "$kernel" -initrd $work/initrd -append "console=ttyS0 quiet panic=-1 transparent_hugepage=madvise" \
    < /dev/null | tr -d '\r' > $work/log || true

# --- checks -----------------------------------------------------------------------------------------------------------

passed=0 failed=0
check() {
    if grep -qE -e "$2" $work/log; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s: no line matches\n  %s\n' "$1" "$2"
    fi
}
check "the guest came to its end" '^the end$'
check "two ranks, one per domain" '^report .*"ranks":2,"workers":1,'
check "rank 0 is on node 0" '^report .*"per_rank":\[\{"node_name":"[^"]*","cpus":\[0,1\],"numa":0,'
check "rank 1 is on node 1" '^report .*"cpus":\[2,3\],"numa":1,'
check "the result is right" '^report .*"check":\{[^}]*"ok":true'
check "four ranks have a core each" '^four .*"cpus":\[0\],"numa":0,.*"cpus":\[1\],"numa":0,.*"cpus":\[2\],"numa":1,.*"cpus":\[3\],"numa":1,'
check "a mask of one core leaves one rank" '^mask .*"ranks":1,"workers":1,.*"cpus":\[3\],"numa":1,'
check "the topology is said" '^verbose topology  2 sockets, 2 NUMA domains, 4 cores'
check "the placement is said" '^verbose placement rank 0: NUMA domain 0, workers on 0, communication on 1$'
check "rank 0's worker is bound to a core" '^thread rank 0 worker 0: 0$'
check "rank 1's worker is bound to a core" '^thread rank 1 worker 0: 2$'
check "rank 0's communication is bound to a core" '^thread rank 0: 1$'
check "rank 1's communication is bound to a core" '^thread rank 1: 3$'
# Each rank's block of the right operand has 16 MiB and must be on the rank's node, regardless of the thread that
# allocated it.
check "both nodes hold a block" '^memory N0 (1[6-9]|[2-9][0-9])[0-9]{3} kB, N1 (1[6-9]|[2-9][0-9])[0-9]{3} kB$'
check "blocks have huge pages" '^huge [1-9][0-9]{4}'
if [ $failed -gt 0 ]; then grep -aE '^(report|four|mask|thread|memory|huge|verbose (topology|placement|          rank)|error)' $work/log | cut -c 1-400; fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
