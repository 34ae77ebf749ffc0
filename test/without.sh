#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Builds the library without each of its add-ons and without all of them: none of an add-on is
# left in the library, a program runs with the library, and a knob of the add-on is ignored with
# a warning.
#
# usage: without.sh BUILD
#   BUILD  folder that everything was built in, with the native rig

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "$1" && pwd)
folder=$build/without
rm -rf "$folder"
mkdir -p "$folder"

# fail TEXT: what was built last is not as it should be
fail()
{
    echo "without $addons: $1"
    exit 1
}

# build_without ADDON...: not optimised, which takes half of the time. What configure is told
# again changes addons.c and the libraries alone
build_without()
{
    cd "$folder"
    "$top/configure" -q -C --disable-tests CFLAGS=-O0 "${@/#/--without-}"
    for part in ucs ucp trace uct/ib/predreg; do
        make -s -j"$(nproc)" -C "src/$part" > make.log 2>&1 || { cat make.log; exit 1; }
    done
}

# run_with KNOB=VALUE...: what a program of two contexts and the library print
run_with()
{
    "$top/test/rig/run.sh" --cma --build "$build" -- \
        env "${@/#/UCX_RCACHE_PRED_}" UCX_RCACHE_PRED_SUMMARY=json \
        LD_PRELOAD="$libraries/libuct_predreg.so" "$build/test/apps/contexts" 2>&1
}

while read -r addons knobs; do
    IFS=, read -ra names <<< "$addons"
    build_without "${names[@]}"
    libraries=$folder/src/uct/ib/predreg/.libs
    for name in "${names[@]}"; do
        nm "$libraries/libuct_predreg_core.so" | grep "uct_predreg_${name}_addon" &&
            fail "it is there"
        [ "$name" != firehose ] || [ ! -e "$libraries/libucp_windows.so" ] ||
            fail "libucp_windows.so was built"
    done

    IFS=, read -ra knobs <<< "$knobs"
    output=$(run_with "${knobs[@]}") || { echo "$output"; fail "the program failed"; }
    grep -q '"policy":"predict"' <<< "$output" || { echo "$output"; fail "no summary"; }
    for knob in "${knobs[@]%=*}"; do
        grep -q "UCX_RCACHE_PRED_$knob is ignored: this library was built without it" \
            <<< "$output" || { echo "$output"; fail "$knob is not told"; }
    done
done <<'LIST'
arena,eager,firehose ARENA=64M,EAGER=y,WINDOWS=firehose
firehose WINDOWS=firehose
arena ARENA=64M
eager EAGER=y
LIST
rm -rf "$folder"
