#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Make the root of another Debian suite, once, and print the folder it is in:
#
#   root.sh SUITE            reuse what is cached, else make it
#   root.sh --force SUITE    make it again (picks up newer packages)
#
#   RIG_MIRROR=URL    take the packages from there (default: from where apt does,
#                     else http://deb.debian.org/debian)
#   RIG_PACKAGES=...  further packages to install, separated by blanks
#
# It has that suite's UCX, Open MPI and MPICH, what is needed to build the tests'
# programs in it, and no documentation: some 900 MB. Nothing is installed here.
# Exit status: 0, 77 if it cannot be done here, 1 if it should have worked and did
# not.

set -u -o pipefail
export LC_ALL=C

cache=${XDG_CACHE_HOME:-$HOME/.cache}/ucx-predreg-rig

packages=(libucx0 ucx-utils libucx-dev openmpi-bin libopenmpi-dev
          mpich libmpich-dev rdma-core ibverbs-utils iproute2 procps
          gcc g++ make pkgconf patchelf liburing-dev libjson-c-dev libdw-dev zlib1g-dev
          libgtest-dev hpcc)

say()
{
    echo "root.sh: $*" >&2
}

skip()
{
    say "$*"
    exit 77
}

fail()
{
    say "$*"
    exit 1
}

# From where apt has Debian's own packages; its lists say which these are.
mirror()
{
    local uri=
    if command -v apt-get >/dev/null; then
        # shellcheck disable=SC2016 # expanded by apt-get
        uri=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' \
                  2>/dev/null |
              sed -n 's/^Debian|Debian|\(http.*\)$/\1/p' | head -n 1)
    fi
    echo "${uri:-http://deb.debian.org/debian}"
}

make_root()
{
    local suite=$1 dir=$2 mirror=$3 path
    # A suite that is still in the making may not have been signed for a while
    local options=(--mode=root --variant=minbase --format=directory
                   --aptopt='Acquire::Check-Valid-Until "false"'
                   --include="$(IFS=,; echo "${packages[*]}")")
    for path in doc man info locale; do
        options+=(--dpkgopt="path-exclude=/usr/share/$path/*")
    done

    say "making a root of Debian $suite from $mirror (once; a minute or two)"
    mmdebstrap "${options[@]}" "$suite" "$dir" "$mirror" > "$tmp/log" 2>&1 || {
        tail -n 15 "$tmp/log" | sed 's/^/    /' >&2
        skip "no root of Debian $suite: it needs $mirror (RIG_MIRROR names" \
             "another one) and 1 GB in $cache"
    }
}

force=
if [ "${1-}" = --force ]; then
    force=1
    shift
fi
[ $# -eq 1 ] || fail "usage: root.sh [--force] SUITE"
suite=$1
case $suite in
bookworm|trixie|unstable) ;;
*) fail "no suite '$suite'; accepted are bookworm, trixie and unstable" ;;
esac

# shellcheck disable=SC2206 # words
packages+=(${RIG_PACKAGES-})
# A name for what determines the result, the day apart
hash=$(echo "${packages[*]}" | sha256sum | cut -c 1-12)
dir=$cache/root-$suite-$hash
if [ -z "$force" ] && [ -d "$dir" ]; then
    echo "$dir"
    exit 0
fi

[ "$(id -u)" -eq 0 ] || skip "only root can make a root of Debian $suite"
command -v mmdebstrap >/dev/null ||
    skip "'mmdebstrap' is not installed (Debian package: mmdebstrap)"
mkdir -p "$cache" || skip "no cache folder: $cache"

# Of several first runs at a time one makes it, and the others wait. It gets its
# name when it is complete.
exec 9> "$cache/root-$suite.lock" || skip "no lock in $cache"
flock 9 || fail "could not lock $cache/root-$suite.lock"
if [ -z "$force" ] && [ -d "$dir" ]; then
    echo "$dir"
    exit 0
fi
tmp=$(mktemp -d "$cache/tmp.XXXXXX") || skip "no temporary folder in $cache"
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
make_root "$suite" "$tmp/root" "${RIG_MIRROR:-$(mirror)}"
# Programs may be running in the old one, which keep what they have open
[ ! -d "$dir" ] || mv -T "$dir" "$tmp/old" || fail "could not replace $dir"
mv -T "$tmp/root" "$dir" || fail "could not rename into $dir"
say "made $dir"
echo "$dir"
