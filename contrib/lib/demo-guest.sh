#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The runs of demo.sh, where there is an RDMA device: started by demo.sh through
# test/rig/run.sh. Everything happens in one boot, and the policies take turns,
# so that whatever slows the machine down for a while slows all of them down.
#
#   demo-guest.sh BUILD OUT REPS BUDGET
#
# No repetition is begun that would end after BUDGET seconds (0: no limit).
#
# writes into OUT
#   runs                        PROGRAM POLICY REP SECONDS, a line for each good
#                               run; SECONDS is the time of the whole job
#   raw/PROGRAM.POLICY.REP.csv  pinned memory of each rank over time (pinwatch)
#   raw/PROGRAM.POLICY.REP.json summaries of the library, a line for each rank
#   raw/PROGRAM.POLICY.REP.out  what the program printed
# and prints lines for demo.sh that begin with "step", "failed" or "skipped".

set -eu

build=$1
out=$2
reps=$3
budget_ms=$(($4 * 1000))

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=contrib/lib/measure.sh
. "$top/contrib/lib/measure.sh"

apps=$build/test/apps
predreg=$build/src/tools/predreg/ucx_predreg
policies=(leave-pinned on-demand predict)
ranks=2
failures=0
step=0
# three programs REPS times, hpcc once: it takes as long as the others together
steps=$(((3 * reps + 1) * ${#policies[@]}))

# Seconds after which a run is taken to hang
limit=200

work=$(mktemp -d "${TMPDIR:-/tmp}/predreg-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/raw"
: > "$out/runs"

# command_of PROGRAM: sets command
command_of()
{
    case $1 in
    # As in the paper, computation takes longer than a transfer, which is some
    # 120 ms in an emulated guest
    fig1-*)    command=("$apps/fig1" --iters 10 --compute 200 --verify --json) ;;
    transpose) command=("$apps/transpose" --json) ;;
    hpcc)      command=(hpcc) ;;
    esac
    [ "$1" != fig1-noreuse ] || command+=(--no-reuse)
}

# hpcc says in its output whether its results are right; the other programs say
# so by their exit status
check_hpcc()
{
    cp hpccoutf.txt "$1" 2>/dev/null &&
        grep -q '^Success=1' hpccoutf.txt &&
        grep -q '^||Ax-b||.*PASSED' hpccoutf.txt &&
        ! grep -q 'FAILED' hpccoutf.txt
}

# run PROGRAM POLICY REP
run()
{
    local program=$1 policy=$2 rep=$3
    local raw=$out/raw/$1.$2.$3
    local command options=() start ms status=0

    step=$((step + 1))
    echo "step $step $steps $program $policy"
    command_of "$program"
    # Stock UCX runs without any of our code, but for the first time: then the
    # library is loaded to count what UCX's own pools register, which is not the
    # same in each run and has to be subtracted from what the kernel counts.
    if [ "$policy" != leave-pinned ] || [ "$rep" -eq 1 ]; then
        options=(--summary=json --output "$raw.json")
    fi

    cd "$work"
    rm -f hpccoutf.txt "$raw.json"
    cp "$top/contrib/lib/hpccinf.txt" hpccinf.txt
    start=$(now_ms)
    timeout -k 5 $limit "$apps/pinwatch" -i 20 \
        -m "$(basename "${command[0]}")" -o "$raw.csv" -- \
        "$predreg" run --policy "$policy" "${options[@]+"${options[@]}"}" -- \
        mpirun -np $ranks "${command[@]}" > "$raw.out" 2>&1 || status=$?
    ms=$(($(now_ms) - start))

    if [ $status -eq 0 ] && [ "$program" = hpcc ]; then
        check_hpcc "$raw.hpccoutf.txt" || status=verification
    fi
    case $status in
    124) status="more than $limit s" ;;
    [1-9]*) status="status $status" ;;
    esac
    if [ "$status" != 0 ]; then
        failures=$((failures + 1))
        echo "failed $program $policy $rep $status"
        return 0
    fi
    printf '%s %s %d %d.%03d\n' "$program" "$policy" "$rep" \
        $((ms / 1000)) $((ms % 1000)) >> "$out/runs"
}

# By program: the time of its first repetition under all policies, ms
declare -A took

# enough_time PROGRAM REP: whether this repetition would end within the budget
enough_time()
{
    [ "$2" -eq 1 ] || [ $budget_ms -eq 0 ] ||
        [ $(($(now_ms) - begin + ${took[$1]})) -le $budget_ms ]
}

run_policies()
{
    local program=$1 rep=$2 start i
    start=$(now_ms)
    for ((i = 0; i < ${#policies[@]}; ++i)); do
        run "$program" "${policies[(i + rep - 1) % ${#policies[@]}]}" "$rep"
    done
    took[$program]=$(($(now_ms) - start))
}

begin=$(now_ms)
for ((rep = 1; rep <= reps; ++rep)); do
    for program in fig1-reuse fig1-noreuse transpose hpcc; do
        [ $rep -eq 1 ] || [ $program != hpcc ] || continue
        if enough_time $program $rep; then
            run_policies $program $rep
        else
            steps=$((steps - ${#policies[@]}))
            echo "skipped $program $rep"
        fi
    done
done

exit $((failures > 0))
