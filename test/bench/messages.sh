#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What a whole message takes under stock UCX and under the library with its
# defaults, by turns, in the native rig (test/native): test/apps/messages. A third
# variant is stock UCX once more, which says what the differences of two equal
# ones are. Prints a row for each pattern and size: the least and the median of
# the runs, microseconds a message; and how much the medians are above stock's.
#
#   messages.sh [--suite S] [--runs N] [--ms N] [--rndv-thresh BYTES]
#               [--size BYTES] [--build DIR] [PATTERN...]
#
#   --suite S            with UCX and MPI of Debian's suite S
#   --runs N             of each variant (15)
#   --ms N               how long each run measures a size (60)
#   --rndv-thresh BYTES  UCX_RNDV_THRESH (16384; auto: UCX's own)
#   --size BYTES         that size only
#   --build DIR          the build (build)
#   PATTERN              pingpong, exchange, window (all of them)
#
# Nothing else may run meanwhile. Other settings of UCX and of the library are
# taken from the environment.

set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
suite=
runs=15
build=$top/build
thresh=16384
options=(--ms 60)
while [ $# -gt 0 ]; do
    case $1 in
    --suite)       suite=$2; shift 2 ;;
    --runs)        runs=$2; shift 2 ;;
    --ms|--size)   options+=("$1" "$2"); shift 2 ;;
    --rndv-thresh) thresh=$2; shift 2 ;;
    --build)       build=$(cd "$2" && pwd); shift 2 ;;
    -*)            sed -n '3,/^$/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    *)             break ;;
    esac
done
[ $# -gt 0 ] || set -- pingpong exchange window
for pattern in "$@"; do
    [[ $pattern =~ ^(pingpong|exchange|window)$ ]] || {
        echo "messages.sh: no pattern: '$pattern'" >&2
        exit 2
    }
done

program=$build/${suite:+$suite/}test/apps/messages
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
rig=("$top/test/rig/run.sh" ${suite:+--suite "$suite"} --build "$build" --cma
     --adapter-cost 16,0.25)
results=$(mktemp)
trap 'rm -f "$results"' EXIT
export UCX_RNDV_THRESH=$thresh

"${rig[@]}" -- true
for ((run = 0; run < runs; ++run)); do
    for pattern in "$@"; do
        for variant in stock library again; do
            preload=()
            [ "$variant" != library ] || preload=("LD_PRELOAD=$library")
            "${rig[@]}" -- mpirun -np 2 --bind-to core \
                env "${preload[@]}" "$program" --pattern "$pattern" \
                "${options[@]}" | sed "s/^/$pattern $variant /" >> "$results"
        done
    done
done

sort -k1,1 -k3,3n -k2,2 -k4,4n "$results" | awk '
    function finish() {
        if (n > 0) {
            least[variant] = x[1]
            median[variant] = (x[int((n + 1) / 2)] + x[int((n + 2) / 2)]) / 2
        }
        n = 0
    }
    function row(    us, ref) {
        if (key == "") return
        ref = median["stock"]
        us = median["library"] - ref
        printf "%-9s %8d  %9.3f %9.3f  %9.3f %9.3f  %7.3f %5.1f %%  %7.3f %5.1f %%\n",
            pattern, size, least["stock"], ref, least["library"],
            median["library"], us, 100 * us / ref, median["again"] - ref,
            100 * (median["again"] - ref) / ref
    }
    BEGIN {
        printf "%-9s %8s  %9s %9s  %9s %9s  %7s %7s  %7s %7s\n", "pattern",
            "bytes", "stock:min", "median", "ours:min", "median", "above", "",
            "again", ""
    }
    $1 " " $3 != key || $2 != variant { finish() }
    $1 " " $3 != key { row(); key = $1 " " $3; pattern = $1; size = $3 }
    { variant = $2; x[++n] = $4 }
    END { finish(); row() }'
