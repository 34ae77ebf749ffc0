#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# configure --with-ucx=DIR takes the UCX in DIR, here a copy of this machine's that
# pkg-config does not know: what is built with it has its libraries from there. A folder
# without UCX is refused by its name.
#
# usage: with-ucx.sh

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/ucx
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# configure DIR ARGUMENT...: the end of what it prints is in $work/output. All that it keeps
# in its cache is the same for all folders
configure()
{
    local dir=$1
    shift
    mkdir -p "$work/$dir"
    (cd "$work/$dir" && "$top/configure" -q --cache-file="$work/cache" --disable-tests \
                            --without-libdw CFLAGS=-O0 "$@") > "$work/output" 2>&1
}

# copy_ucx LIB: to the prefix, with its libraries in that folder of it
copy_ucx()
{
    local include libraries
    include=$(pkg-config --variable=includedir ucx)
    libraries=$(pkg-config --variable=libdir ucx)
    rm -rf "$prefix"
    mkdir -p "$prefix/include" "$prefix/$1"
    cp -r "$include"/uc[mpst] "$prefix/include"
    cp -d "$libraries"/libuc[mpst].so* "$prefix/$1"
}

for lib in lib lib64; do
    copy_ucx $lib
    configure built --with-ucx="$prefix" || cat "$work/output"
    grep -qx "UCX_CFLAGS = -I$prefix/include" "$work/built/Makefile" ||
        fail "not the headers of $prefix"
    grep -qx "UCX_LIBDIR = $prefix/$lib" "$work/built/Makefile" ||
        fail "not the libraries in $prefix/$lib"
done

make -s -C "$work/built/src" -j"$(nproc)" SUBDIRS="ucs ucp" \
    > "$work/output" 2>&1 || { cat "$work/output"; fail "make"; }
for name in libucp libucs; do
    ldd "$work/built/src/ucp/.libs/libucp_firehose.so" |
        grep -qF "$name.so.0 => $prefix/lib64/" ||
        fail "libucp_firehose.so has not the $name of $prefix"
done

# refuses DIR TEXT
refuses()
{
    ! configure refused --with-ucx="$1" || fail "--with-ucx=$1 is accepted"
    grep -qF -e "$2" "$work/output" ||
        fail "--with-ucx=$1: no '$2' in $(tail -n 3 "$work/output")"
}

refuses "$work/no-folder" "--with-ucx=$work/no-folder: no UCX there"
mkdir "$work/empty"
refuses "$work/empty" "--with-ucx=$work/empty: no UCX there"
rm "$prefix"/lib64/libucp.so
refuses "$prefix" "--with-ucx=$prefix: no UCX there"
echo 'no library' > "$prefix/lib64/libucp.so"
refuses "$prefix" "programs cannot be linked with the UCX"
refuses no "there is nothing without UCX"
exit $errors
