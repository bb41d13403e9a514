#!/usr/bin/env bash
# In place of ssh: `launcher.sh [OPTIONS] ADDRESS COMMAND...` runs a command of a shell on one of the hosts of hosts.sh.
set -euo pipefail

while [[ $1 == -* ]]; do shift; done
number=${1##*.}
shift
# As ssh does, the words make one line for a shell.
exec ip netns exec "einsum-dist-$number" unshare --uts sh -c "hostname host$number && $*"
