#!/usr/bin/env bash
# Emulates hosts on one machine. As root, `hosts.sh HOSTS RATE PROGRAM...` runs an MPI program with one rank per host, or
# with RANKS_PER_HOST consecutive ranks.
#
#     benches/network/hosts.sh 2 1gbit target/mpich/release/einsum-dist --algorithm ring-mn --size 4096 "mk,kn->mn"
#
# A host is a network namespace with the address 10.77.0.N and its own host name, so MPI can use only TCP between hosts.
# A bridge in a separate namespace is the switch. RATE is the rate of every link in each direction, in the notation of
# tc.
#
#     host 1  eth0 ---- port1
#                            \
#                             bridge       traffic from each eth0 and from each bridge port is shaped
#                            /
#     host 2  eth0 ---- port2
#
# EINSUM_DIST_MPIRUN names the launcher of the program's MPI (default mpirun.mpich). The script passes the addresses of
# all hosts to the program in NETWORK_HOSTS, separated by commas. The script removes its namespaces at the end. At the
# start, it removes the namespaces that a killed run left behind.
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
        # A namespace exists as long as a process runs in it, so its processes are killed first.
        ip netns pids "$namespace" | xargs --no-run-if-empty kill -KILL 2> /dev/null || true
        ip netns delete "$namespace"
    done
}

# `shape NAMESPACE INTERFACE` limits the sending rate of an interface to RATE. The interface is one end of a link. The
# bucket must be large enough for a few GSO packets, because tbf segments packets that are larger than the bucket. The
# queue must be long enough that TCP blocks before packets are dropped.
shape() { ip netns exec "$1" tc qdisc replace dev "$2" root tbf rate "$rate" burst 256kb latency 100ms; }

plug() {
    local host=$prefix-$1 switch=$prefix-switch
    ip netns add "$host"
    ip link add eth0 netns "$host" type veth peer name "port$1" netns "$switch"
    ip -n "$host" address add "$net.$1/24" dev eth0
    # Use the congestion control reno, because bbr paces packets with timers that each interrupt a virtual processor,
    # and cubic may be forbidden in a namespace.
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
# A second signal must not interrupt the removal.
trap 'trap "" INT TERM; remove' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ip netns add "$prefix-switch"
ip -n "$prefix-switch" link add bridge type bridge
ip -n "$prefix-switch" link set bridge up
# Disable netfilter on the bridge.
for filter in iptables ip6tables arptables; do
    ip netns exec "$prefix-switch" sysctl -qw "net.bridge.bridge-nf-call-$filter=0" 2> /dev/null || true
done
for host in $(seq "$hosts"); do plug "$host"; done

export NETWORK_HOSTS
NETWORK_HOSTS=$(seq --separator=, --format "$net.%g" "$hosts")
launcher=$here/launcher.sh
each=${RANKS_PER_HOST:-1}
read -ra mpirun <<< "${EINSUM_DIST_MPIRUN:-mpirun.mpich}"
if [[ $("${mpirun[0]}" --version 2> /dev/null) =~ Open\ MPI|OpenRTE ]]; then
    mpirun+=(--allow-run-as-root --oversubscribe --map-by "ppr:$each:node" --bind-to none --mca plm_rsh_agent "$launcher")
    mpirun+=(--mca plm_rsh_no_tree_spawn 1 --mca pml ob1 --mca btl "tcp,self$([ "$each" = 1 ] || echo ,vader)")
    mpirun+=(--mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 -x PATH -x NETWORK_HOSTS --host "$NETWORK_HOSTS")
else
    # MPICH is built with UCX or with libfabric. UCX sends a large message only after a handshake, whose replies queue
    # behind data in the same direction. In at least half of the runs, data therefore flowed in only one direction of a
    # link at a time. By default, UCX also sends segments of 8 KB, each with its own system call and packet.
    export UCX_TCP_TX_SEG_SIZE=${UCX_TCP_TX_SEG_SIZE:-64kb} UCX_TLS=tcp UCX_NET_DEVICES=eth0 UCX_RNDV_THRESH=${UCX_RNDV_THRESH:-inf} FI_PROVIDER=tcp FI_TCP_IFACE=eth0
    mpirun+=(-launcher ssh -launcher-exec "$launcher" -hosts "$NETWORK_HOSTS" -ppn "$each")
fi
# Runs in the background, so that a signal to this script runs its traps immediately.
"$launcher" "$net.1" "${mpirun[*]@Q}" -n "$((hosts * each))" "${*@Q}" 9>&- &
wait $!
