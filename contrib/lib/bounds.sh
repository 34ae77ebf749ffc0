#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Replays made-up programs under bounds on bytes and on regions, which are a part
# of what leave-pinned needs without a bound, beside UCX's caches under the same
# bound, and prints a line for each: run times as multiples of leave-pinned's,
# registered memory on average as a part of leave-pinned's, uses that were refused,
# and which marks are missed:
#   lru      slower than UCX's caches by more than 0.2 % and above 1.010, without an
#            idle processor; by more than 0.1 % with one
#   memory   more byte-seconds than predict takes without a bound
#   before   with an idle processor, slower by more than 0.1 % than the tree of
#            BEFORE
#   refused  more uses were refused than in that tree
# The clock is virtual, so that the figures do not depend on the machine.
#
# usage: bounds.sh UCX_PREDREG [BEFORE]
#   UCX_PREDREG  the command (build/src/tools/predreg/ucx_predreg)
#   BEFORE       the same of another tree, to compare with
# exit status: 0; 1 if a mark is missed; 2 if it cannot be replayed

set -euo pipefail
export LC_ALL=C

[ $# -ge 1 ] && [ $# -le 2 ] ||
    { echo "usage: $0 UCX_PREDREG [BEFORE]" >&2; exit 2; }
command=$1
before=${2-}
make_trace=$(dirname "$0")/../../test/traces/make_trace.awk
work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-bounds.XXXXXX")
trap 'rm -rf "$work"' EXIT

# name, and what make_trace.awk takes
programs=(
    "turns   buffers=64 uses=6400 period=1000"
    "bursts  buffers=256 bytes=65536 uses=25600 period=100000 gap=100 lasting=80"
    "random  buffers=64 uses=6400 period=1000"
    "phases  buffers=64 uses=7680 period=1000"
    "loops   buffers=64 uses=7168 period=1000"
    "drift   buffers=64 uses=6400 period=1000 part=0.0001"
    "skewed  buffers=64 uses=6400 period=1000"
    "sizes   buffers=256 bytes=65536 uses=8192 period=1000"
    "slices  buffers=256 bytes=65536 uses=25600 period=100000 gap=100 lasting=80
             apart=65536"
)

# play COMMAND OPTION...: replays $trace, and prints run time, average of registered
# bytes, byte-seconds, uses that were refused, and the bound on $bound
play()
{
    local command=$1 line field
    shift
    line=$("$command" replay --json "$@" "$trace") || exit 2
    for field in duration_seconds pinned_avg_bytes byte_seconds refused \
                 "bound_$bound|limit"; do
        [[ $line =~ \"($field)\":([0-9.]+) ]] || exit 2
        printf '%s ' "${BASH_REMATCH[2]}"
    done
}

# play_program NAME: prints a line for each row of a program
play_program()
{
    local name=$1 bound knob lru part half limit helper option lru_row row was
    local -A shared=([shared]=--shared-processor [own]=)
    bound=bytes
    for helper in shared own; do
        pinned[$helper]=$(play "$command" --policy leave-pinned)
        free[$helper]=$(play "$command" --policy predict ${shared[$helper]})
    done
    for bound in bytes regions; do
        if [ "$bound" = bytes ]; then lru=lru knob=MAX_PINNED
        else lru=regions knob=MAX_REGIONS; fi
        read -r _ _ _ _ half <<< "$(play "$command" --policy "$lru")"
        for part in 1 2 4 10; do
            limit=$((2 * half / part))
            lru_row=$(play "$command" --policy "$lru=$limit")
            for helper in shared own; do
                option=(--policy predict --set "$knob=$limit" ${shared[$helper]})
                row=$(play "$command" "${option[@]}")
                was="- - - - -"
                [ -z "$before" ] || was=$(play "$before" "${option[@]}")
                echo "$name $bound 1/$part $helper ${pinned[$helper]} $lru_row $row" \
                     "${free[$helper]} $was"
            done
        done
    done
}

declare -A pinned=() free=()
for program in "${programs[@]}"; do
    read -rd '' name options <<< "$program" || true
    read -rd '' -a options <<< "$options" || true
    trace=$work/$name.trace
    pattern=$name
    [ "$name" != slices ] || pattern=bursts
    awk "${options[@]/#/-v}" -v pattern="$pattern" -f "$make_trace" > "$trace"
    play_program "$name" > "$work/$name.rows" &
    [ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n
done
for job in $(jobs -p); do
    wait "$job"
done

for program in "${programs[@]}"; do
    cat "$work/${program%% *}.rows"
done | awk -v "against=$before" '
    BEGIN {
        printf "%-7s %-7s %-4s %-6s  %5s  %5s %5s  %5s %7s %7s\n", "program",
               "bound", "part", "helper", "lru", "time", "memory", "before",
               "refused", "before"
    }
    {
        # Five columns each: leave-pinned, the caches of UCX, predict, predict
        # without a bound, predict before
        lru    = $10 / $5
        time   = $15 / $5
        missed = ""
        if ($4 == "shared" && time > lru + .002 && time > 1.01)
            missed = missed " lru"
        if ($4 == "own" && time > lru + .001)
            missed = missed " lru"
        if ($17 > $22)
            missed = missed " memory"
        was = "-"
        if (against != "") {
            was = sprintf("%.3f", $25 / $5)
            if ($4 == "own" && time > $25 / $5 + .001)
                missed = missed " before"
            if ($18 > $28)
                missed = missed " refused"
        }
        rows++
        misses += (missed != "")
        printf "%-7s %-7s %-4s %-6s  %.3f  %.3f %6.2f  %5s %7d %7s%s\n", $1, $2,
               $3, $4, lru, time, $16 / $6, was, $18, $28, missed
    }
    END {
        printf "%d of %d rows miss a mark\n", misses, rows
        exit misses > 0
    }'
