#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Build for another Debian suite, in its root, what has to be built with that
# suite's UCX and MPI: the native rig (test/native) and the programs of the tests
# (test/apps). They go to BUILD/SUITE, or to BUILD/SUITE-mpich, where those alone are
# that need an MPI. The library itself is not built: the one in BUILD works in all suites.
#
#   build.sh [--mpich] SUITE [BUILD]    BUILD is build if it is not given
#
# What is up to date is left alone. Exit status: 0, 77 if it cannot be done here, 1
# if it should have worked and did not.

set -u -o pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || exit 1
top=$(cd "$here/../.." && pwd)

fail()
{
    echo "build.sh: $*" >&2
    exit 1
}

mpi=ompi-c # what pkg-config calls it
variant=
programs=rig
if [ "${1-}" = --mpich ]; then
    mpi=mpich
    variant=-mpich
    programs=mpi
    shift
fi
[ $# -eq 1 ] || [ $# -eq 2 ] || fail "usage: build.sh [--mpich] SUITE [BUILD]"
suite=$1
build=$(realpath -m "${2:-$top/build}")/$suite$variant

root=$("$here/root.sh" "$suite") || exit
[ -x "$top/configure" ] ||
    fail "there is no $top/configure: autogen.sh makes it"

# Of several runs at a time one builds, and the others wait.
mkdir -p "$build" || fail "no folder $build"
exec 9> "$build/rig.lock" || fail "no file $build/rig.lock"
flock 9 || fail "could not lock $build/rig.lock"
stamp=$build/rig.stamp
made=$(stat -c '%n %i %Y' "$root")
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$made" ] &&
   [ -z "$(find "$top"/test/{native,apps} "$top"/test/bench/uring_reg.? \
               "$top/src/uct/ib/predreg/compat/ucx_api.h" \
               "$top/configure" -newer "$stamp" -type f \
               \( -name '*.[ch]' -o -name Makefile.in -o -name configure \))" ]
then
    exit 0
fi

echo "build.sh: building the rig and the programs for $suite in $build" >&2
[ "$(cat "$stamp" 2>/dev/null)" = "$made" ] ||
    rm -rf "$build/config.status" "$build/test"
rm -f "$stamp"
# The files that autogen.sh makes are not made again with another suite's autotools
# shellcheck disable=SC2016 # expanded in the root
"$here/run.sh" --suite "$suite" --native --timeout 1200 -- bash -e -c '
    cd "$1"
    [ -f config.status ] || "$2/configure" -q CFLAGS=-O2 \
        MPI_CFLAGS="$(pkg-config --cflags "$3")" \
        MPI_LIBS="$(pkg-config --libs "$3")"
    kept="ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=:"
    [ "$4" = mpi ] || make -s $kept -C test/native
    make -s $kept -j2 -C test/apps "$4"' - "$build" "$top" "$mpi" "$programs" \
    > "$build/rig.log" 2>&1 9>&- || {
    status=$?
    tail -n 30 "$build/rig.log" | sed 's/^/    /' >&2
    [ $status -ne 77 ] || exit 77
    fail "could not build for $suite; see $build/rig.log"
}
echo "$made" > "$stamp"
