#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Run a command with less memory than it needs, as root:
#
#   memory.sh MIB COMMAND [ARGS...]
#
# The command and its children are in a control group of so many MiB. What does not fit
# goes to swap: if this machine has none, to compressed memory (zram), which is set up
# for the time of the command: run one at a time. At the end "memory.sh: waited N us, killed N" on stderr says
# for how long processes of the group have waited for memory, and how many of them the
# kernel has killed for lack of it.
#
# Exit status: that of the command; 77 if this cannot be done here.

set -u -o pipefail
export LC_ALL=C

top=/sys/fs/cgroup
swap=
groups=()

skip()
{
    echo "memory.sh: $*" >&2
    exit 77
}

cleanup()
{
    local group
    # After a signal the command still runs
    for group in "${groups[@]}"; do
        while [ -n "$(cat "$group/cgroup.procs")" ]; do
            xargs kill -9 < "$group/cgroup.procs"
            sleep 0.1
        done 2>/dev/null
    done
    for group in "${groups[@]}"; do
        rmdir "$group" || echo "memory.sh: $group is left" >&2
    done
    if [ -n "$swap" ]; then
        swapoff "$swap" 2>/dev/null
        echo 1 > "/sys/block/${swap#/dev/}/reset"
    fi
}

# Make a group below the folder $1, and set its limit in the file $2
make_group()
{
    local group=$1/predreg.$$
    mkdir "$group" 2>/dev/null || skip "no control group can be made in $1"
    groups+=("$group")
    [ -z "$2" ] || echo $((mib << 20)) > "$group/$2" || skip "$group/$2 cannot be set"
}

make_groups()
{
    if [ -e $top/cgroup.controllers ]; then
        echo +memory > $top/cgroup.subtree_control 2>/dev/null
        make_group $top memory.max
        waits=${groups[0]}/memory.pressure
        events=${groups[0]}/memory.events
    else
        make_group $top/memory memory.limit_in_bytes
        make_group $top/unified ""
        waits=${groups[1]}/memory.pressure
        events=${groups[0]}/memory.oom_control
    fi
    [ -r "$waits" ] || skip "the kernel does not tell how long processes wait for memory"
}

make_swap()
{
    [ "$(wc -l < /proc/swaps)" -gt 1 ] && return
    [ "$(cat /sys/block/zram0/disksize 2>/dev/null)" = 0 ] || skip "there is no swap, and no zram"
    echo 2G > /sys/block/zram0/disksize || skip "zram cannot be set up"
    swap=/dev/zram0
    mkswap $swap >/dev/null 2>&1 && swapon $swap || skip "zram cannot be set up"
}

[ $# -ge 2 ] && [ "$1" -gt 0 ] 2>/dev/null || {
    echo "usage: memory.sh MIB COMMAND [ARGS...]" >&2
    exit 2
}
mib=$1
shift
[ "$(id -u)" = 0 ] || skip "only root can limit memory"
trap cleanup EXIT
trap 'exit 143' TERM INT HUP
make_groups
make_swap
(
    for group in "${groups[@]}"; do
        echo $BASHPID > "$group/cgroup.procs" || exit 77
    done
    exec "$@"
)
status=$?
echo "memory.sh: waited $(sed -n 's/^some.*total=//p' "$waits") us, killed" \
    "$(sed -n 's/^oom_kill //p' "$events")" >&2
exit $status
