#!/bin/sh
# Like address_sanitizer.sh, without the kernels with vector instructions.
exec "$(dirname "$0")/address_sanitizer.sh" "$@" --cfg portable_kernels
