#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Run a command in the root of another Debian suite, on the kernel, the devices and
# the processes of this machine. Started by run.sh in a mount namespace of its own,
# which ends with the command:
#
#   unshare --mount --propagation private enter.sh MOUNT ROOT DIR... -- COMMAND...
#
#   MOUNT     an empty folder to mount things on
#   ROOT      what root.sh has made; what is written to it is lost
#   DIR       folders of this machine, which the command sees at the same paths

set -u

fail()
{
    echo "enter.sh: $*" >&2
    exit 125
}

tmp=$1
lower=$2
shift 2
folders=()
while [ "$1" != -- ]; do
    folders+=("$1")
    shift
done
shift

mount -t tmpfs -o size=50% rig "$tmp" || fail "no tmpfs on $tmp"
mkdir "$tmp/up" "$tmp/work" "$tmp/root" || fail "no folders in $tmp"
root=$tmp/root
mount -t overlay -o "lowerdir=$lower,upperdir=$tmp/up,workdir=$tmp/work" rig \
    "$root" || fail "no overlay of $lower"
# /dev has /dev/shm and /dev/pts in it
for dir in /proc /sys /dev /tmp "${folders[@]+"${folders[@]}"}"; do
    mkdir -p "$root$dir"
    mount --rbind "$dir" "$root$dir" || fail "could not show $dir in the root"
done
mkdir -p "$root${HOME:-/root}"
cp /etc/hosts "$root/etc/hosts"
[ -d "$root$PWD" ] || fail "the root of the suite has no folder $PWD"
exec chroot "$root" env -C "$PWD" -- "$@"
