#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What was built with this machine's UCX works beside another one: the unit tests,
# which use all that the core uses of UCS; the knobs, as ucx_info lists them and
# as UCX warns of a misspelt one; and the command.
#
# usage: versions.sh BUILD-FOLDER [FOLDER]...
#   FOLDER  where a UCX is installed: FOLDER/bin/ucx_info and FOLDER/lib are run.
#           Default: the UCX of Debian 13, in a root of that suite
# exit status: 0, 1, or 77 if there is no such root

set -eu
export LC_ALL=C
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
shift
suite=trixie
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
gtest=$build/test/gtest/gtest
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-versions.XXXXXX")
trap 'rm -rf "$work"' EXIT
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# Runs a command beside the other UCX, with the variables that are given first
beside()
{
    if [ -n "$folder" ]; then
        env LD_LIBRARY_PATH="$folder/lib" PATH="$folder/bin:$PATH" "$@"
    else
        "$top/test/rig/run.sh" --suite $suite --native --timeout 500 -- env "$@"
    fi
}

# The knobs as ucx_info lists them: NAME=DEFAULT and what they do. Some versions
# print an empty line of help more
knobs()
{
    grep -v '^# *$' | sed -n '/Predictive registration/,/_PRED_TRACE=/p'
}

# UCX warns when its library is set up; what it lists does not matter
warning()
{
    beside UCX_RCACHE_PRED_WINDO=2 LD_PRELOAD="$library" ucx_info -w -e -u t \
        2>&1 | grep 'unused env' || true
}

check_one()
{
    local version
    version=$(beside ucx_info -v 2>&1 | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' |
                  head -n 1) || true
    [ -n "$version" ] || {
        fail "no ucx_info in ${folder:-the root of $suite}"
        return
    }
    echo "beside UCX $version:"

    beside LD_PRELOAD="$library" ucx_info -cf | knobs > "$work/there"
    diff "$work/here" "$work/there" || fail "ucx_info lists other knobs"
    case $(warning) in
    *UCX_RCACHE_PRED_WINDO*) ;;
    *) fail "no warning of UCX_RCACHE_PRED_WINDO" ;;
    esac

    beside "$build/src/tools/predreg/ucx_predreg" run --set WINDO=2 -- true \
        > "$work/command" 2>&1 && fail "the command accepted WINDO"
    grep -q 'the nearest is WINDOW' "$work/command" || {
        cat "$work/command"
        fail "the command does not know the knobs"
    }

    unit_tests
}

# Those that run longest and call nothing of UCX that others do not
models="test_explore.*:test_patterns.*:test_replay_*:test_optimum.*"
models+=":test_keys.many_ranks_share_what_there_is:test_progress.rounds_in_vain_*"

# The others, some of them on each processor. Tests that fail get a second attempt, alone:
# processes of a user share what they learn of an adapter's keys, tests that run at the same
# time as well
unit_tests()
{
    local shards i names pids=()
    shards=$(nproc)
    for ((i = 0; i < shards; ++i)); do
        beside GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$i" \
            "$gtest" --gtest_brief=1 --gtest_filter="-$models" > "$work/gtest-$i" 2>&1 &
        pids+=($!)
    done
    for ((i = 0; i < shards; ++i)); do
        wait "${pids[i]}" && continue
        cat "$work/gtest-$i"
        names=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\.[^ ,]*\).*/\1/p' "$work/gtest-$i" |
                    sort -u | paste -sd:)
        if [ -z "$names" ] || ! grep -q '^\[=*\] .* ran\.' "$work/gtest-$i" ||
           ! beside GTEST_FILTER="$names" "$gtest"; then
            fail "unit tests"
        fi
        echo "FLAKY $names"
    done
    for ((i = 0; i < shards; ++i)); do
        tail -n 3 "$work/gtest-$i"
    done
}

env LD_PRELOAD="$library" ucx_info -cf | knobs > "$work/here"
[ "$(grep -c '^UCX_RCACHE_PRED_' "$work/here")" -gt 10 ] ||
    fail "this machine's ucx_info does not list the knobs"

if [ $# -eq 0 ]; then
    "$top/test/rig/root.sh" $suite > "$work/root" 2>&1 || {
        tail -n 1 "$work/root"
        exit 77
    }
    set -- ""
fi
for folder in "$@"; do
    check_one
done
exit $errors
