#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The runs of evaluate.sh, where there is an RDMA device: started by it through
# test/rig/run.sh. The variants of a case take turns within one boot, so that
# whatever slows the machine down for a while slows all of them down.
#
#   evaluate-guest.sh BUILD OUT REPS SECONDS QUICK CASE:VARIANT...
#
# No case is begun, and none repeated, that would end after SECONDS, as far as
# is known from those before. Writes into OUT
#   runs                       CASE VARIANT REP, a line for each good run
#   raw/CASE.VARIANT.REP.csv   pinned memory of each rank over time (pinwatch)
#   raw/CASE.VARIANT.REP.json  summaries of the library, a line for each rank
#   raw/CASE.VARIANT.REP.out   what the program printed
# and prints lines for evaluate.sh that begin with "run", "failed" or "skipped".

set -eu

build=$1
out=$2
reps=$3
budget_ms=$(($4 * 1000))
quick=$5
shift 5

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
apps=$build/test/apps
predreg=$build/src/tools/predreg/ucx_predreg
# shellcheck source=contrib/lib/measure.sh
. "$top/contrib/lib/measure.sh"
# shellcheck source=contrib/lib/cases.sh
. "$top/contrib/lib/cases.sh"

# Seconds after which a run is taken to hang
limit=120
failures=0

cases=()
declare -A variants_of took
for run in "$@"; do
    [ -n "${variants_of[${run%:*}]-}" ] || cases+=("${run%:*}")
    variants_of[${run%:*}]+=" ${run#*:}"
done

# Finds out how much work takes a millisecond, once, so that all runs compute
# the same
work_per_ms()
{
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 0 --compute 1 --json \
        > "$out/raw/work.out" 2>&1 || true
    sed -n 's/.*"work_per_ms":\([0-9]*\).*/\1/p' "$out/raw/work.out"
}

# trouble STATUS OUTPUT: prints why a run that ended so is of no use, or nothing
trouble()
{
    case $1 in
    0)   ! grep -q 'unused env.*RCACHE_PRED' "$2" || echo "unknown knob" ;;
    124) echo "more than $limit s" ;;
    *)   echo "status $1" ;;
    esac
}

# run CASE VARIANT REP
run()
{
    local raw=$out/raw/$1.$2.$3
    local ranks command policy knobs options=() status=0 why

    echo "run $1 $2 $3"
    case_of "$1"
    variant_of "$2"
    # Stock UCX runs without any of our code, but for the first time: then the
    # library is loaded to count what UCX's own pools register, which has to be
    # subtracted from what the kernel counts
    if [ "$policy" != leave-pinned ] || [ "$3" -eq 1 ]; then
        options=(--summary=json --output "$raw.json")
    fi

    rm -f "$raw.json"
    timeout -k 5 $limit "$apps/pinwatch" -i 20 \
        -m "$(basename "${command[0]}")" -o "$raw.csv" -- \
        "$predreg" run --policy "$policy" "${knobs[@]+"${knobs[@]}"}" \
        "${options[@]+"${options[@]}"}" -- \
        mpirun --oversubscribe -np "$ranks" "${command[@]}" \
        --work-per-ms "$work" --json > "$raw.out" 2>&1 || status=$?
    why=$(trouble $status "$raw.out")
    if [ -n "$why" ]; then
        failures=$((failures + 1))
        echo "failed $1 $2 $3 $why"
    else
        echo "$1 $2 $3" >> "$out/runs"
    fi
}

# run_case CASE REP
run_case()
{
    local start variants i
    start=$(now_ms)
    read -ra variants <<< "${variants_of[$1]}"
    for ((i = 0; i < ${#variants[@]}; ++i)); do
        run "$1" "${variants[(i + $2 - 1) % ${#variants[@]}]}" "$2"
    done
    took[$1]=$(($(now_ms) - start))
    last=$((took[$1] / ${#variants[@]}))
}

# estimate CASE: the time it will take, ms: as much as in its last repetition
# or, if there was none, as the runs of the case before it
estimate()
{
    local variants
    read -ra variants <<< "${variants_of[$1]}"
    echo "${took[$1]-$((last * ${#variants[@]}))}"
}

mkdir -p "$out/raw"
work=$(work_per_ms)
[ -n "$work" ] || {
    echo "failed work - 0 it is not known how long computation takes"
    exit 1
}

begin=$(now_ms)
last=0
for ((rep = 1; rep <= reps; ++rep)); do
    for name in "${cases[@]}"; do
        if [ $(($(now_ms) - begin + $(estimate "$name"))) -le $budget_ms ]; then
            run_case "$name" $rep
        else
            echo "skipped $name $rep"
        fi
    done
done

exit $((failures > 0))
