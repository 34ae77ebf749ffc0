#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What a bound allows, by kind of program: replays made-up programs under bounds on bytes
# and on regions, which are a part of what leave-pinned needs, without an idle processor
# and with BUDGET=0, and prints the waits of strict-lru, predict and bounded as percent of
# the run time, and which part of what could be saved predict saves:
#
#     (strict-lru - predict) / (strict-lru - bounded)
#
# where strict-lru loses more than 0.2 % of the run time to the bound, that is, waits so
# much more than leave-pinned, and waits more than bounded. The clock is virtual, so that the figures do not depend on
# the machine.
#
# usage: allowed.sh UCX_PREDREG [KIND]...
#   UCX_PREDREG  the command (build/src/tools/predreg/ucx_predreg)
#   KIND         these kinds only
# exit status: 0; 2 if it cannot be replayed

set -euo pipefail
export LC_ALL=C

[ $# -ge 1 ] || { echo "usage: $0 UCX_PREDREG [KIND]..." >&2; exit 2; }
command=$1
shift
make_trace=$(dirname "$0")/../../test/traces/make_trace.awk
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-allowed.XXXXXX")
trap 'rm -rf "$work"' EXIT
costs=(--reg-cost 16000,250 --dereg-cost 16000,0)

# name, and what make_trace.awk takes
programs=(
    "turns   pattern=turns buffers=64 uses=6400 period=1000"
    "bursts  pattern=bursts buffers=256 bytes=65536 uses=25600 period=100000 gap=100 lasting=80"
    "phases  pattern=phases buffers=64 uses=7680 period=1000"
    "loops   pattern=loops buffers=64 uses=7168 period=1000"
    "drift   pattern=drift buffers=64 uses=6400 period=1000 part=0.0001"
    "sizes   pattern=sizes buffers=256 bytes=65536 uses=8192 period=1000"
    "slices  pattern=bursts buffers=256 bytes=65536 uses=25600 period=100000 gap=100
             lasting=80 apart=65536"
    "whole   pattern=whole buffers=64 bytes=65536 apart=65536 uses=6500 period=100000"
    "random  pattern=random buffers=64 uses=6400 period=1000"
    "skewed  pattern=skewed buffers=64 uses=6400 period=1000"
    "parts   pattern=parts array=4194304 bytes=262144 period=1000 lasting=3000 uses=5000"
)

# values FIELD OPTION...: the field of each policy, in the order of the command
values()
{
    local field=$1
    shift
    "$command" replay --json "${costs[@]}" "$@" "$trace" |
        sed -n "s/^{\"type\":\"replay\".*\"$field\":\\([0-9.]*\\).*/\\1/p" | tr '\n' ' '
}

# play KIND: a line for each bound
play()
{
    local kind=$1 bytes regions knob need part bound pinned
    bytes=$(values pinned_peak_bytes --policy leave-pinned)
    regions=$(values bound_regions --policy regions)
    pinned=$(values critical_path_seconds --policy leave-pinned)
    for knob in MAX_PINNED MAX_REGIONS; do
        if [ $knob = MAX_PINNED ]; then need=$bytes; else need=$((2 * regions)); fi
        for part in 2 4 10; do
            bound=$((need / part))
            [ $bound -ge 4 ] || continue # The least that MAX_REGIONS accepts
            echo "$kind $knob 1/$part $pinned" \
                "$(values duration_seconds --policy leave-pinned)" \
                "$(values critical_path_seconds --policy strict-lru,predict,bounded \
                    --shared-processor --set BUDGET=0 --set "$knob=$bound")"
        done
    done
}

echo "| kind | bound | strict-lru, predict, bounded: 1/2 | 1/4 | 1/10 | saved |"
echo "|---|---|---|---|---|---|"
for program in "${programs[@]}"; do
    read -rd '' kind options <<< "$program" || true
    read -rd '' -a options <<< "$options" || true
    [ $# -eq 0 ] || [[ " $* " = *" $kind "* ]] || continue
    trace=$work/$kind.trace
    awk "${options[@]/#/-v}" -f "$make_trace" > "$trace"
    play "$kind"
done | awk '
    # Kind, knob, part; leave-pinned: waits, run time; predict, strict-lru, bounded: waits
    NF != 8 { print "cannot be replayed: " $0 > "/dev/stderr"; status = 2; exit }
    {
        value = "-"
        if ($7 - $4 > 0.002 * $5 && $7 > $8) {
            value = ($7 - $6) / ($7 - $8)
            ++rows[$1]
            below[$1] += (value < 0.8)
            worse[$1] += (value < 0)
            value      = sprintf("%.2f", value)
        }
        row = "| " $1 " | " tolower(substr($2, 5)) " "
        if (!(row in cells))
            order[++num] = row
        time        = $5 - $4
        cells[row]  = cells[row] sprintf("| %.2f, %.2f, %.2f ", 100 * $7 / (time + $7),
                                         100 * $6 / (time + $6), 100 * $8 / (time + $8))
        saved[row]  = saved[row] sep[row] value
        sep[row]    = ", "
        ++parts[row]
    }
    END {
        if (status)
            exit status
        for (i = 1; i <= num; ++i) {
            row = order[i]
            while (parts[row]++ < 3)
                cells[row] = cells[row] "| "
            print row cells[row] "| " saved[row] " |"
        }
        print ""
        for (kind in rows)
            printf "%s: %d of %d below 0.8, %d below 0\n", kind, below[kind], rows[kind],
                   worse[kind] | "sort"
    }'
