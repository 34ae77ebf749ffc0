# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What package.sh and test/package.sh have in common: small systems of a Debian
# suite in a folder, called roots here. To be sourced after build.sh.
#
# shellcheck shell=bash disable=SC2034

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ucx-predreg-rig

# Those that the packages are made for
known_suites=(bookworm trixie)

# The suite of this machine; nothing if it is no Debian
own_suite()
{
    # shellcheck disable=SC1091
    (. /etc/os-release && [ "$ID" = debian ] &&
         echo "${VERSION_CODENAME:-unstable}") || true
}

# The server that apt gets Debian's packages from
mirror()
{
    local found
    found=$(apt-get indextargets --format '$(REPO_URI)' \
                'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
                head -n 1)
    echo "${found:-http://deb.debian.org/debian}"
}

# prepare_root LOG NAME SUITE --variant=VARIANT PACKAGE...: print the folder of a
# root that has these packages, made unless it is there. Roots are known by all
# that they are made of; what they are needed for must leave them as they are.
prepare_root()
{
    local log=$1 name=$2 suite=$3 variant=$4 hash root tmp
    shift 4
    hash=$(echo "$variant" "$@" | sha256sum | cut -c 1-12)
    root=$cache/$name-$suite-$hash
    if [ ! -e "$root/etc/os-release" ]; then
        as_root true || {
            say "a root of $suite can only be made by root" >&2
            return 77
        }
        say "making a root of $suite (once)" >&2
        mkdir -p "$cache"
        tmp=$(mktemp -d "$cache/tmp.XXXXXX")
        as_root mmdebstrap --mode=root --format=dir "$variant" \
            --include="$(IFS=,; echo "$*")" \
            "$suite" "$tmp/root" "$(mirror)" >> "$log" 2>&1 || {
            as_root rm -rf --one-file-system "$tmp"
            tail -n 20 "$log" >&2
            say "no root of $suite could be made (all of it: $log)" >&2
            return 77
        }
        # Somebody else may have been faster: a rename onto a folder that is not
        # empty fails
        as_root mv -T "$tmp/root" "$root" 2>/dev/null || true
        as_root rm -rf --one-file-system "$tmp"
    fi
    echo "$root"
}

# in_root ROOT FOLDER COMMAND...: run it there as root, with FOLDER as /mnt. What
# it writes elsewhere, and what is mounted for it, is gone when it ends.
in_root()
{
    local root=$1 folder=$2
    shift 2
    # shellcheck disable=SC2016
    as_root unshare --mount --pid --fork bash -c '
        set -eu
        root=$1 folder=$2 http_proxy=$3
        shift 3
        # The system that is seen below /mnt, and what is written to it
        mkdir -p "$root/mnt"
        exec 3< "$root" 4< "$folder"
        mount -t tmpfs tmpfs /mnt
        mkdir /mnt/upper /mnt/work /mnt/system
        mount -t overlay overlay /mnt/system -o \
            "lowerdir=/proc/self/fd/3,upperdir=/mnt/upper,workdir=/mnt/work"
        mount --bind /proc/self/fd/4 /mnt/system/mnt
        mount --rbind /dev /mnt/system/dev
        mount --rbind /sys /mnt/system/sys
        mount -t proc proc /mnt/system/proc
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
            ${http_proxy:+http_proxy="$http_proxy"} \
            chroot /mnt/system "$@"' bash "$root" "$folder" "${http_proxy-}" \
        "$@" < /dev/null
}
