#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Real MPI programs over verbs, under the preload. Runs where there is an RDMA
# device, see run.sh. One line for each test, then DONE.
#
# usage: suite.sh BUILD-FOLDER [PATTERN]    only tests whose name has PATTERN

set -u
build=$1
pattern=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
apps=$build/test/apps
limit=240 # seconds a program may take; emulated guests differ in speed
predreg="timeout -k 5 $limit $build/src/tools/predreg/ucx_predreg run
         --summary=json"
work=$(mktemp -d)

# run NAME COMMAND...: passes if the command does
run()
{
    local name=$1 log status=0 begin=$SECONDS
    shift
    case $name in *"$pattern"*) ;; *) return ;; esac
    log=$work/log
    "$@" > "$log" 2>&1 || status=$?
    case $status in
    0)   echo "PASS $name ($((SECONDS - begin)) s)" ;;
    77)  echo "SKIP $name: $(tail -n 1 "$log")" ;;
    124) echo "FAIL $name: not done in $limit s" ;;
    *)   echo "FAIL $name (status $status)" ;;
    esac
    [ $status -eq 0 ] || tail -n 25 "$log" | sed 's/^/    /'
}

# What must hold of each rank's summary, whatever the timing: it was there for
# every rank, memory was managed, and nothing is registered at the end.
#   managed RANKS COMMAND...
managed()
{
    local ranks=$1 summary=$work/summary
    shift
    rm -f "$summary"
    UCX_RCACHE_PRED_SUMMARY_FILE=$summary "$@" || return
    cat "$summary"
    awk -v ranks="$ranks" '
        function value(name) {
            if (!match($0, "\"" name "\":[0-9]+"))
                return -1
            return substr($0, RSTART + length(name) + 3) + 0
        }
        { ++n }
        value("uses") <= 0 { print "rank without uses"; bad = 1 }
        value("bytes_now") != 0 { print "memory left registered"; bad = 1 }
        END {
            if (n != ranks) { print n " summaries of " ranks; bad = 1 }
            exit bad
        }' "$summary"
}

hpcc_verified()
{
    cp "$top/contrib/demo-hpccinf.txt" "$work/hpccinf.txt"
    (cd "$work" && "$@" hpcc) || return
    grep -q '^Success=1' "$work/hpccoutf.txt" || {
        grep -E 'Success|FAILED' "$work/hpccoutf.txt"
        return 1
    }
}

# A cache of UCX that the user forces on: said by each rank once, nothing is
# managed, the program runs
steps_aside()
{
    local count
    UCX_IB_REG_METHODS=rcache,direct $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 2 --compute 10 \
        --verify > "$work/aside" 2>&1 || return
    count=$(grep -c 'steps aside: UCX_IB_REG_METHODS=rcache,direct' \
            "$work/aside")
    cat "$work/aside"
    [ "$count" -eq 2 ]
}

for policy in predict on-demand; do
    run "integrity, $policy" managed 2 $predreg --policy $policy -- \
        mpirun --oversubscribe -np 2 "$apps/integrity" --seed 1 --ops 150
done
run "integrity, 4 ranks" managed 4 $predreg -- \
    mpirun --oversubscribe -np 4 "$apps/integrity" --seed 2 --ops 60
run "integrity, 4 threads a rank" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 3 --ops 60 --threads 4
run "fork" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/forktest"
run "Figure 1, reuse" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 6 --verify
for helper in aggressive progress off; do
    run "Figure 1, helper $helper" managed 2 $predreg --set HELPER=$helper -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 3 --verify
done
run "Figure 1, no reuse" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 6 --verify --no-reuse
run "transpose" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/transpose" --iters 4
# Each checks every byte it receives
for kernel in cg wavefront ft is; do
    run "$kernel" managed 2 $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/$kernel" --iters 3 --compute 50
done
run "ft, pencils, 4 ranks" managed 4 $predreg -- \
    mpirun --oversubscribe -np 4 "$apps/ft" --layout 2d --iters 2 --compute 50
for pattern in noreuse random alternating drift phases burst; do
    run "irregular, $pattern" managed 2 $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/irregular" --pattern $pattern \
        --iters 20 --compute 20
done
run "many buffers" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/manybuf" --iters 1
run "hpcc" hpcc_verified managed 2 $predreg -- \
    mpirun --oversubscribe -np 2
run "several contexts" managed 1 env UCX_TLS=rc $predreg -- "$apps/contexts"
run "invalidating deregistration" $predreg -- "$apps/invalidate"
run "invalidating deregistration, on-demand" \
    $predreg --policy on-demand -- "$apps/invalidate"
run "a cache of UCX forced on" steps_aside

rm -rf "$work"
echo DONE
