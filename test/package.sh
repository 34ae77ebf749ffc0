#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Tries the Debian packages as a new user would: in a small system of their suite that
# has Open MPI, they are installed with apt, a job is run, and the installed program for
# Firehose is compiled and run, as autopkgtest does. There is no RDMA device, so that the
# library has nothing to manage there; it has to say so.
#
# usage: package.sh BUILD-FOLDER [SUITE [OLDER-SUITE]]
#   SUITE        that of the system; this machine's unless given
#   OLDER-SUITE  that of the packages, if it is another one; contrib/package.sh has
#                built it

set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"
# shellcheck source=contrib/lib/root.sh
. "$top/contrib/lib/root.sh"

suite=${2:-$(own_suite)}
built_for=${3:-$suite}
files=()
for name in ucx-predreg libucp-firehose0 libucp-firehose-dev; do
    file=$(echo "$build/packages/$built_for/${name}"_*.deb)
    [ -f "$file" ] ||
        die "no package $name in $build/packages/$built_for; run" \
            "contrib/package.sh $built_for"
    files+=("$file")
done

command -v mmdebstrap > /dev/null || { echo "no mmdebstrap"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
cp -r "${files[@]}" "$top/test/package_user.sh" "$top/test/links.sh" \
    "$top/debian/tests" "$work"
log=$work/root.log
root=$(prepare_root "$log" user "$suite" --variant=minbase \
           openmpi-bin netpipe-openmpi environment-modules \
           gcc libc6-dev libucx-dev pkgconf man-db) || exit $?
in_root "$root" "$work" /mnt/package_user.sh
