#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The runs of demo.sh and evaluate.sh, where memory gets registered: started by
# them through test/rig/run.sh. The variants of a case take turns, so that
# whatever slows the machine down for a while slows all of them down.
#
#   rounds.sh [OPTION...] BUILD OUT CASE:VARIANT...
#
#   -g RIG      where this is: verbs, or cma with an adapter's cost
#   -r N        repetitions (1)
#   -t SECONDS  begin no case, and repeat none, that would end after that, as
#               far as is known from those before (0: all are run)
#   -w WORK     how much work programs take for a millisecond (found out)
#   -a          but all of them once, whatever it takes
#   -s          before them, sample the memory of each, in a repetition 0
#   -p NAME=COMMAND
#               a program of the user
#   -q          fewer iterations
#
# With verbs, all runs are sampled. Writes into OUT
#   runs                        CASE VARIANT REP SECONDS, a line for each good
#                               run; SECONDS is the time of the whole job
#   work                        how much work a millisecond was
#   raw/CASE.VARIANT.REP.csv    pinned memory of each rank over time (pinwatch)
#   raw/CASE.VARIANT.REP.stat   statistics of the native rig, a line a rank
#   raw/CASE.VARIANT.REP.json   summaries of the library, a line for each rank
#   raw/CASE.VARIANT.REP.out    what the program printed
# and prints lines for them that begin with "run", "failed" or "skipped".

set -eu

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=contrib/lib/cases.sh
. "$top/contrib/lib/cases.sh"

rig=verbs
reps=1
budget_ms=0
work_per_ms=
first_rep=1
quick=
unlimited_reps=-1
while getopts g:p:r:t:w:asq option; do
    case $option in
    g) rig=$OPTARG ;;
    p) own_program "$OPTARG" ;;
    r) reps=$OPTARG ;;
    t) budget_ms=$((OPTARG * 1000)) ;;
    w) work_per_ms=$OPTARG ;;
    a) unlimited_reps=1 ;;
    s) first_rep=0 ;;
    q) quick=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
build=$1
out=$2
shift 2

apps=$build/test/apps
predreg=$build/src/tools/predreg/ucx_predreg
sample_ms=20
[ "$rig" = verbs ] || sample_ms=5

# Seconds after which a run is taken to hang
limit=200
failures=0

cases=()
declare -A variants_of took
for run in "$@"; do
    [ -n "${variants_of[${run%:*}]-}" ] || cases+=("${run%:*}")
    variants_of[${run%:*}]+=" ${run#*:}"
done

mkdir -p "$out/raw"
: > "$out/runs"
folder=$(mktemp -d "${TMPDIR:-/tmp}/predreg-rounds.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# Milliseconds since boot: date(1) is slow to start in a guest, and the clock
# may be set meanwhile
now_ms()
{
    local up
    read -r up _ < /proc/uptime
    up=${up/./}
    echo $((10#$up * 10))
}

# Finds out how much work takes a millisecond, once, so that all runs compute
# the same
find_work()
{
    mpirun -np 2 "$apps/fig1" --iters 0 --compute 1 --json \
        > "$out/raw/work.out" 2>&1 || true
    sed -n 's/.*"work_per_ms":\([0-9]*\).*/\1/p' "$out/raw/work.out"
}

# hpcc says in its output whether its results are right; the other programs say
# so by their exit status
hpcc_is_right()
{
    cp hpccoutf.txt "$1" 2>/dev/null &&
        grep -q '^Success=1' hpccoutf.txt &&
        grep -q '^||Ax-b||.*PASSED' hpccoutf.txt &&
        ! grep -q 'FAILED' hpccoutf.txt
}

# trouble STATUS RAW: prints why a run that ended so is of no use, or nothing
trouble()
{
    case $1 in
    0)   if grep -q 'unused env.*RCACHE_PRED' "$2.out"; then
             echo "unknown knob"
         elif [ "${command[0]}" = hpcc ] && ! hpcc_is_right "$2.hpccoutf.txt"
         then
             echo "wrong results"
         fi ;;
    124) echo "more than $limit s" ;;
    *)   echo "status $1" ;;
    esac
}

# Sets ours: our command before that of a variant. Stock UCX runs without it;
# over verbs the first repetition counts what UCX's own pools register, which has
# to be subtracted from what the kernel counts.
#   ours_of RAW REP
ours_of()
{
    ours=()
    [ -n "$policy" ] || [ "$rig $2" = "verbs 1" ] || return 0
    ours=("$predreg" run --policy "${policy:-leave-pinned}" "${knobs[@]}"
          --summary=json --summary-file "$1.json" --)
}

# Sets sampler: what samples the memory of a run, if it shall be
#   sampler_of RAW REP
sampler_of()
{
    sampler=()
    [ "$rig" = verbs ] || [ "$2" -eq 0 ] || return 0
    sampler=("$apps/pinwatch" -i "$sample_ms" -m "$(basename "${command[0]}")"
             -o "$1.csv" --)
}

# run CASE VARIANT REP
run()
{
    local raw=$out/raw/$1.$2.$3 status=0 start ms why
    local ranks command place launch problem policy knobs ours sampler

    echo "run $1 $2 $3"
    case_of "$1" "$rig" "$apps"
    variant_of "$2"
    ours_of "$raw" "$3"
    sampler_of "$raw" "$3"

    rm -f hpccoutf.txt "$raw".*
    sed "s/^1000 /$problem /" "$top/contrib/lib/hpccinf.txt" > hpccinf.txt
    [ "$rig" = verbs ] || export NATIVE_STAT=$raw.stat
    start=$(now_ms)
    # In the same group of processes, so that who ends this script ends it too
    timeout --foreground -k 5 $limit "${sampler[@]}" "${place[@]}" "${ours[@]}" \
        "${launch[@]}" "${command[@]}" > "$raw.out" 2>&1 || status=$?
    ms=$(($(now_ms) - start))

    why=$(trouble $status "$raw")
    if [ -n "$why" ]; then
        failures=$((failures + 1))
        echo "failed $1 $2 $3 $why"
    else
        printf '%s %s %d %d.%03d\n' "$1" "$2" "$3" \
            $((ms / 1000)) $((ms % 1000)) >> "$out/runs"
    fi
}

# run_case CASE REP: another variant begins in each repetition
run_case()
{
    local start variants i
    start=$(now_ms)
    read -ra variants <<< "${variants_of[$1]}"
    for ((i = 0; i < ${#variants[@]}; ++i)); do
        run "$1" "${variants[(i + $2) % ${#variants[@]}]}" "$2"
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

[ -n "$work_per_ms" ] || work_per_ms=$(find_work)
[ -n "$work_per_ms" ] || {
    echo "failed work - 0 it is not known how long computation takes"
    exit 1
}
echo "$work_per_ms" > "$out/work"

begin=$(now_ms)
last=0
for ((rep = first_rep; rep <= reps; ++rep)); do
    for name in "${cases[@]}"; do
        if [ $budget_ms -eq 0 ] || [ $rep -le $unlimited_reps ] ||
           [ $(($(now_ms) - begin + $(estimate "$name"))) -le $budget_ms ]; then
            run_case "$name" $rep
        else
            echo "skipped $name $rep"
        fi
    done
done

exit $((failures > 0))
