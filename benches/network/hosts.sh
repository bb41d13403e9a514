#!/usr/bin/env bash
# Hosts on one machine: `hosts.sh HOSTS RATE PROGRAM...` runs an MPI program on them, one rank on each (as root).
#
#     benches/network/hosts.sh 2 1gbit target/mpich/release/einsum-dist --algorithm ring-mn --size 4096 "mk,kn->mn"
#
# A host is a network namespace, 10.77.0.N, with a name of its own, so that MPI has only TCP between two of them. A switch joins
# them: a bridge in one more namespace. Every link carries RATE (as tc says it) each way.
#
#     host 1  eth0 ---- port1
#                            \
#                             bridge       what leaves an eth0 and what leaves a port is shaped
#                            /
#     host 2  eth0 ---- port2
#
# EINSUM_DIST_MPIRUN names the launcher of the program's MPI (mpirun.mpich). The program finds the addresses of all hosts, with
# commas between, in NETWORK_HOSTS. Nothing of this is left behind; what a run that was killed has left, the next one removes.
set -euo pipefail

readonly prefix=einsum-dist
readonly net=10.77.0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
    echo "$1" >&2
    exit 1
}

namespaces() { ip netns list | awk '{ print $1 }' | grep "^$prefix-" || true; }

remove() {
    local namespace
    for namespace in $(namespaces); do
        # Whoever still runs in there would keep it alive.
        ip netns pids "$namespace" | xargs --no-run-if-empty kill -KILL 2> /dev/null || true
        ip netns delete "$namespace"
    done
}

# Both ends of a link: INTERFACE of NAMESPACE sends at most RATE. A bucket of a few GSO packets, or tbf cuts them up; a
# queue as long as TCP may fill it before it waits, so that nothing is lost.
shape() { ip netns exec "$1" tc qdisc replace dev "$2" root tbf rate "$rate" burst 256kb latency 100ms; }

plug() {
    local host=$prefix-$1 switch=$prefix-switch
    ip netns add "$host"
    ip link add eth0 netns "$host" type veth peer name "port$1" netns "$switch"
    ip -n "$host" address add "$net.$1/24" dev eth0
    # Hosts pace what they send by timers where bbr is the default, and each of those stops a virtual processor; cubic may be forbidden in here.
    ip netns exec "$host" sysctl -qw net.ipv4.tcp_congestion_control=reno
    ip -n "$host" link set lo up
    ip -n "$host" link set eth0 up
    ip -n "$switch" link set "port$1" master bridge up
    shape "$host" eth0
    shape "$switch" "port$1"
}

[ $# -ge 3 ] || die "usage: $0 HOSTS RATE PROGRAM..."
[ "$(id -u)" -eq 0 ] || die "hosts are network namespaces, which take root: sudo $0"
for tool in ip tc sysctl unshare flock taskset; do
    command -v "$tool" > /dev/null || die "$tool is missing: apt-get install iproute2 procps util-linux"
done
hosts=$1 rate=$2
shift 2

exec 9> "/run/lock/$prefix-hosts"
flock --nonblock 9 || die "another run has these hosts"
remove
# A second signal must not end the removing.
trap 'trap "" INT TERM; remove' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ip netns add "$prefix-switch"
ip -n "$prefix-switch" link add bridge type bridge
ip -n "$prefix-switch" link set bridge up
# A switch filters nothing.
for filter in iptables ip6tables arptables; do
    ip netns exec "$prefix-switch" sysctl -qw "net.bridge.bridge-nf-call-$filter=0" 2> /dev/null || true
done
for host in $(seq "$hosts"); do plug "$host"; done

export NETWORK_HOSTS
NETWORK_HOSTS=$(seq --separator=, --format "$net.%g" "$hosts")
launcher=$here/launcher.sh
read -ra mpirun <<< "${EINSUM_DIST_MPIRUN:-mpirun.mpich}"
if [[ $("${mpirun[0]}" --version 2> /dev/null) =~ Open\ MPI|OpenRTE ]]; then
    mpirun+=(--allow-run-as-root --oversubscribe --map-by node --bind-to none --mca plm_rsh_agent "$launcher")
    mpirun+=(--mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl tcp,self)
    mpirun+=(--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 -x PATH -x NETWORK_HOSTS --host "$NETWORK_HOSTS")
else
    # MPICH is built with UCX or with libfabric. UCX asks before it sends a large message, and its answers queue up behind what goes
    # the same way: in half of the runs or more, the two directions of a link took turns. It sends pieces of 8 KB, too, each with a call
    # of the system and a packet of its own.
    export UCX_TCP_TX_SEG_SIZE=${UCX_TCP_TX_SEG_SIZE:-64kb} UCX_TLS=tcp UCX_NET_DEVICES=eth0 UCX_RNDV_THRESH=${UCX_RNDV_THRESH:-inf} FI_PROVIDER=tcp FI_TCP_IFACE=eth0
    mpirun+=(-launcher ssh -launcher-exec "$launcher" -hosts "$NETWORK_HOSTS" -ppn 1)
fi
# Not in the foreground: a signal to this script ends them at once.
"$launcher" "$net.1" "${mpirun[*]@Q}" -n "$hosts" "${*@Q}" 9>&- &
wait $!
