#!/usr/bin/env bash
# In place of ssh: `launcher.sh [OPTIONS] ADDRESS COMMAND...` runs a command of a shell on one of the hosts of hosts.sh.
set -euo pipefail

while [[ $1 == -* ]]; do shift; done
number=${1##*.}
shift

# Hosts have cores of their own, or a thread that waits for messages would be woken on another host's: each has its part of this machine's,
# and where there are too few, several have the same one.
IFS=, read -ra hosts <<< "$NETWORK_HOSTS"
cores=$(nproc --all)
if [ "$cores" -ge ${#hosts[@]} ]; then
    first=$(((number - 1) * cores / ${#hosts[@]})) last=$((number * cores / ${#hosts[@]} - 1))
else
    first=$(((number - 1) % cores)) last=$(((number - 1) % cores))
fi

# As ssh does, the words make one line for a shell.
exec taskset --cpu-list "$first-$last" ip netns exec "einsum-dist-$number" unshare --uts sh -c "hostname host$number && $*"
