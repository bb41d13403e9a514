#!/usr/bin/env bash
# Replaces ssh. `launcher.sh [OPTIONS] ADDRESS COMMAND...` runs a shell command on one of the hosts that hosts.sh
# emulates.
set -euo pipefail

while [[ $1 == -* ]]; do shift; done
number=${1##*.}
shift

# Each host has its own share of this machine's cores. Otherwise a thread that waits for messages could wake up on a
# core that belongs to a different host. If there are fewer cores than hosts, several hosts share a core.
IFS=, read -ra hosts <<< "$NETWORK_HOSTS"
cores=$(nproc --all)
if [ "$cores" -ge ${#hosts[@]} ]; then
    first=$(((number - 1) * cores / ${#hosts[@]})) last=$((number * cores / ${#hosts[@]} - 1))
else
    first=$(((number - 1) % cores)) last=$(((number - 1) % cores))
fi

# Like ssh, joins the words to one line for a shell.
exec taskset --cpu-list "$first-$last" ip netns exec "einsum-dist-$number" unshare --uts sh -c "hostname host$number && $*"
