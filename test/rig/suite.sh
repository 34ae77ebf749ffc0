#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Real MPI programs over verbs, under the preload. Runs where there is an RDMA
# device, see run.sh. One line for each test, then DONE.
#
# usage: suite.sh BUILD-FOLDER [PATTERN]    only tests whose name has PATTERN
#
# Under run.sh --suite it takes the programs that build.sh has built.

set -u
build=$1
pattern=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
apps=$build/${RIG_SUITE:+$RIG_SUITE/}test/apps
limit=240 # seconds a program may take; emulated guests differ in speed
predreg="timeout -k 5 $limit $build/src/tools/predreg/ucx_predreg run
         --summary=json"
record="timeout -k 5 $limit $build/src/tools/predreg/ucx_predreg record"
dump="$build/src/tools/predreg/ucx_predreg dump"
stat="$build/src/tools/predreg/ucx_predreg stat"
work=$(mktemp -d)

# What is registered ahead, and how much less memory that takes, does not depend
# here on what it costs in an emulated guest. The native suite has the defaults.
export UCX_RCACHE_PRED_BUDGET=inf UCX_RCACHE_PRED_HELPER=aggressive

# shellcheck source=test/suite.sh
. "$top/test/suite.sh"

hpcc_verified()
{
    sed 's/^1000 /400 /' "$top/contrib/lib/hpccinf.txt" > "$work/hpccinf.txt"
    (cd "$work" && "$@" hpcc) || return
    grep -q '^Success=1' "$work/hpccoutf.txt" || {
        grep -E 'Success|FAILED' "$work/hpccoutf.txt"
        return 1
    }
}

# From UCX 1.16 on only UCP has a cache, which answers without a call that could be
# seen, and UCT alone does not tell its version
case ${RIG_SUITE:-} in
trixie|unstable) ucx_1_16=1 cache=UCX_RCACHE_ENABLE=y ;;
*) ucx_1_16= cache=UCX_IB_REG_METHODS=rcache,direct ;;
esac

# Where the user forces a cache of UCX on, each rank says so once, nothing is
# managed, and the program runs
steps_aside()
{
    local count
    env "$cache" $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 2 --compute 10 \
        --verify > "$work/aside" 2>&1 || return
    count=$(grep -c "steps aside: $cache" "$work/aside")
    cat "$work/aside"
    [ "$count" -eq 2 ]
}

# A field of each rank's summary is never above MAX
#   at_most FIELD MAX COMMAND...
at_most()
{
    local field=$1 max=$2
    shift 2
    "$@" || return
    awk -v field="$field" -v max="$max" '
        { match($0, "\"" field "\":[0-9]+")
          value = substr($0, RSTART + length(field) + 3) + 0
          if ((RSTART == 0) || (value > max)) {
              print field " is " value ", more than " max
              bad = 1
          } }
        END { exit bad }' "$work/summary"
}

# Contexts that come and go do not add up: UCX's pools are part of what the
# kernel counts as pinned
contexts()
{
    managed 1 env UCX_TLS=rc $predreg -- "$apps/contexts" || return
    awk '
        function value(name) {
            match($0, "\"" name "\":[0-9]+")
            return substr($0, RSTART + length(name) + 3) + 0
        }
        { pools = value("pool_bytes"); pinned = value("kernel_pinned_bytes")
          print "pools of " pools " bytes, pinned " pinned
          exit !(pools > 0 && pools <= pinned) }' "$work/summary"
}

# What the kernel counts as pinned, less UCX's pools, is never above a bound:
# sampled, for each rank
#   pinned_at_most BYTES PROGRAM COMMAND...
pinned_at_most()
{
    local max=$1 program=$2
    shift 2
    managed 2 "$apps/pinwatch" -i 5 -m "$program" -o "$work/pinned" -- "$@" ||
        return
    awk -F, -v max="$max" '
        FNR == NR {
            if (match($0, "\"pid\":[0-9]+"))
                pid = substr($0, RSTART + 6, RLENGTH - 6)
            if (match($0, "\"pool_bytes\":[0-9]+"))
                pools[pid] = substr($0, RSTART + 13, RLENGTH - 13)
            next
        }
        ($2 in pools) { n++; user = $3 * 1024 - pools[$2]
                        if (user > peak) peak = user }
        END { print "pinned at most " peak " in " n " samples"
              exit !(n > 100 && peak > 0 && peak <= max) }' \
        "$work/summary" "$work/pinned"
}

# A limit of locked memory that does not hold the program under stock UCX, which
# aborts, holds it with us: everything arrives
#   memlock KIB COMMAND...
memlock()
{
    local limit_kib=$1 nobody="setpriv --bounding-set=-ipc_lock
                               --inh-caps=-ipc_lock"
    shift
    (ulimit -l "$limit_kib" && exec timeout -k 5 60 $nobody "$@") &&
        { echo "stock UCX does not need more than $limit_kib KiB"; return 1; }
    (ulimit -l "$limit_kib" && managed 2 $nobody $predreg -- "$@")
}

# uses JSON-FILE: of each process, in a line, if there are two ranks that have
# some
uses()
{
    sed -n 's/.*"rank":[01],.*"uses":\([1-9][0-9]*\),.*/\1/p' "$1" |
        paste -sd ' ' | grep ' '
}

# Process IDs of the two ranks of Figure 1, once both have used something; what they count
# is in $work/stat
communicating()
{
    local i pids
    for ((i = 0; i < 300; ++i)); do
        # shellcheck disable=SC2086 # words
        pids=$(pgrep -x fig1) && $stat --json $pids > "$work/stat" 2> /dev/null &&
            uses "$work/stat" > /dev/null && echo $pids && return
        sleep 0.1
    done
    return 1
}

# One rank of a job is killed in the midst of transfers; another job on the
# node, which keeps the same bound, gets its share, and no shared memory is left
killed()
{
    local bound=24M pids job
    UCX_RCACHE_PRED_NODE_MAX_PINNED=$bound $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 1000 --compute 1 &
    job=$!
    pids=$(communicating) && kill -9 "${pids#* }" || return
    wait $job && { echo "the job survived"; return 1; }
    managed 2 env UCX_RCACHE_PRED_NODE_MAX_PINNED=$bound $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 3 --verify || return
    awk '/"refused":[1-9]/ { print "a dead rank has a share"; bad = 1 }
         END { exit bad }' "$work/summary" || return
    [ "$(ipcs -m | grep -c '^0x')" -eq 0 ] || { ipcs -m; return 1; }
}

# refused PATTERN COMMAND...: fails, and says so
refused()
{
    local pattern=$1 output
    shift
    output=$("$@" 2>&1) && { echo "$*: did not fail"; return 1; }
    echo "$output"
    echo "$output" | grep -q "$pattern"
}

# A running job as others see it: both ranks, and what they count grows. Not as
# another user sees it, nor after a rank was killed, nor the launcher, which has
# no library.
#   live POLICY
live()
{
    local pid pids job first second i
    $predreg --policy "$1" -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 1000 --compute 1 &
    job=$!
    pids=$(communicating) && first=$(uses "$work/stat") || return
    for ((i = 0; i < 100; ++i)); do
        $stat --json $pids > "$work/stat" && second=$(uses "$work/stat") || return
        awk -v a="$first" -v b="$second" 'BEGIN {
            split(a, x); split(b, y); exit !(y[1] > x[1] && y[2] > x[2]) }' && break
    done
    cat "$work/stat"
    echo "uses: $first, then $second"
    [ $i -lt 100 ] || return
    $stat --interval 0.1 --count 2
    refused "belongs to user root" \
        setpriv --reuid=65534 --clear-groups $stat $pids || return
    refused "does not have libuct_predreg.so loaded" \
        $stat "$(pgrep -x 'mpirun|prterun')" || return
    pid=${pids##*[!0-9]}
    kill -9 "$pid" || return
    for ((i = 0; i < 100; ++i)); do # Until the kernel has released its memory
        $stat "$pid" > /dev/null 2>&1 || break
        sleep 0.1
    done
    refused "process $pid\(: there is no such process\| has ended\)" \
        $stat "$pid" || return
    wait $job && { echo "the job survived"; return 1; }
    [ -z "$(ipcs -m | grep '^0x')" ]
}

# Each of so many ranks has left a trace that adds up, see check_trace.awk
#   traces RANKS
traces()
{
    local trace
    ls -l "$work/traces"
    [ "$(ls "$work/traces" | grep -c '^rank-.*\.trace$')" -eq "$1" ] || return
    for trace in "$work/traces"/*.trace; do
        $dump "$trace" > "$work/trace.txt" &&
            awk -f "$top/test/rig/check_trace.awk" "$work/trace.txt" || return
    done
}

# recorded RANKS POLICY COMMAND...
recorded()
{
    local ranks=$1 policy=$2
    shift 2
    rm -rf "$work/traces"
    $record -o "$work/traces" --policy "$policy" -- "$@" && traces "$ranks"
}

# What a rank has done is in its trace although it is killed, and so is what the
# other one has, which the launcher ends
recorded_killed()
{
    local job trace count
    rm -rf "$work/traces"
    $record -o "$work/traces" -- \
        mpirun --oversubscribe -np 2 "$apps/fig1" --iters 1000 --compute 1 &
    job=$!
    for ((i = 0; i < 200; ++i)); do # Until both have used something
        count=0
        for trace in "$work/traces"/rank-*.trace; do
            $dump "$trace" 2> /dev/null | grep -q '^end' && ((++count))
        done
        [ $count -eq 2 ] && break
        sleep 0.5
    done
    # The descriptor is out of the way of those that the program gets
    [ -n "$(find "/proc/$(pgrep -n -x fig1)/fd" \
        -regex '.*/\([4-9][0-9]\|[0-9][0-9][0-9]+\)' \
        -lname '*.trace')" ] || return
    pkill -9 -n -x fig1 || return
    wait $job && { echo "the job survived"; return 1; }
    for trace in "$work/traces"/rank-0000.* "$work/traces"/rank-0001.*; do
        $dump "$trace" > "$work/trace.txt" &&
            awk -v killed=1 -f "$top/test/rig/check_trace.awk" \
                "$work/trace.txt" || return
    done
}

# Where a trace cannot grow, as on a full disk, each rank says so once and stops
# recording, and the program goes on
recorded_full()
{
    rm -rf "$work/traces"
    $record -o "$work/traces" -- mpirun --oversubscribe -np 2 \
        sh -c 'ulimit -f 2 && exec "$@"' - \
        "$apps/fig1" --iters 6 --compute 10 --verify > "$work/full" 2>&1
    local status=$?
    cat "$work/full"
    [ $status -eq 0 ] &&
        [ "$(grep -c 'File too large; recording ends' "$work/full")" -eq 2 ]
}

# A run that is recorded, and replayed under the policy it had, comes to what
# the run has counted itself, for each rank: byte-seconds within so many
# percent, hits within so many percent of the uses. See docs/replay.md for why
# it is not the same, and why the hits of cg are not compared. And its traces add
# up.
#   replayed POLICY PERCENT HITS-PERCENT COMMAND...
replayed_once()
{
    local policy=$1 percent=$2 hits=$3 traces=$work/traces
    shift 3
    # Without uses in pieces: a recording does not tell of each when it registered them
    managed 2 timeout -k 5 $limit "$build/src/tools/predreg/ucx_predreg" \
        record -o "$traces" --force --summary=json --policy "$policy" \
        --set PIECES=n -- "$@" && traces 2 || return
    "$build/src/tools/predreg/ucx_predreg" replay --policy "$policy" --json \
        --set PIECES=n --per-rank "$traces" > "$work/replay" || return
    awk -v percent="$percent" -v most="$hits" '
        function value(name) {
            if (!match($0, "\"" name "\":[0-9.]+"))
                return -1
            return substr($0, RSTART + length(name) + 3) + 0
        }
        { rank = value("rank") }
        FNR == NR {
            bytes[rank] = value("bytes_avg") * value("duration_seconds")
            uses[rank]  = value("uses")
            hits[rank]  = value("hits")
            next
        }
        rank >= 0 {
            ++n
            off    = 100 * (value("byte_seconds") / bytes[rank] - 1)
            missed = value("hits") - hits[rank]
            printf "rank %d: byte-seconds %+.1f %%, hits %d of %d, not %d\n",
                   rank, off, value("hits"), uses[rank], hits[rank]
            if ((off > percent) || (off < -percent) ||
                (value("uses") != uses[rank]) ||
                (missed > uses[rank] * most / 100) ||
                (missed < -uses[rank] * most / 100))
                bad = 1
        }
        END { exit bad || (n != 2) }' "$work/summary" "$work/replay"
}

# The same, at the second attempt at the latest: the times of an emulated processor
# depend on what else the machine does
replayed()
{
    replayed_once "$@" || replayed_once "$@"
}

# What the kernel counts as pinned of a rank that sends and receives what is too short to
# be registered: UCX's own pools, KiB. The rank takes its node for one with 64 ranks
#   pools stock|lean [NAME=VALUE]...
pools()
{
    local pools=$1
    shift
    env -u UCX_RC_VERBS_RX_QUEUE_LEN -u UCX_UD_VERBS_RX_QUEUE_LEN \
        UCX_RCACHE_PRED_POOLS="$pools" "$@" $predreg -- \
        mpirun --oversubscribe -np 2 env OMPI_COMM_WORLD_LOCAL_SIZE=64 \
        "$apps/incast" --rounds 1 > "$work/incast" 2>&1 ||
        { cat "$work/incast" >&2; return 1; }
    awk '$1 == 1 && $2 == 8 && $6 == 0 { print $5 }' "$work/incast"
}

# That is less than half with lean, but not where the user has set the longest queue
lean_pools()
{
    local stock lean users
    stock=$(pools stock) && lean=$(pools lean) &&
        users=$(pools lean UCX_RC_VERBS_RX_QUEUE_LEN=4095) || return
    echo "pinned: $stock KiB, lean $lean, lean but for the queue $users"
    cat "$work/incast"
    [ $((2 * lean)) -lt "$stock" ] && [ $((2 * users)) -gt "$stock" ]
}

# A job whose control group may have so many objects of RDMA, a fourth of what the program
# takes if all stays registered. The group refuses the next one with EAGAIN, and stock UCX
# 1.13 aborts
#   objects NUMBER COMMAND...
objects()
{
    local number=$1 groups=$work/groups status=0
    shift
    [ -n "${RIG_GUEST:-}" ] || { echo "only where the machine is a guest's"; return 77; }
    mkdir -p "$groups"
    mount -t cgroup2 none "$groups" && echo +rdma > "$groups/cgroup.subtree_control" &&
        mkdir -p "$groups/job" &&
        echo "rxe0 hca_object=$number" > "$groups/job/rdma.max" || return
    (echo "$BASHPID" > "$groups/job/cgroup.procs" && "$@") || status=$?
    rmdir "$groups/job"
    umount "$groups"
    [ $status -eq 0 ] || return $status
    awk -v number="$number" "$value"'
        { hits += value("hits"); uses += value("uses") }
        value("keys_limit") <= 0 || value("keys_limit") >= number {
            print "the limit was not met"
            bad = 1
        }
        END { print hits " of " uses " uses are hits"; exit bad || hits < 0.6 * uses }' \
        "$work/summary"
}

for policy in predict on-demand; do
    run "integrity, $policy" managed 2 $predreg --policy $policy -- \
        mpirun --oversubscribe -np 2 "$apps/integrity" --seed 1 --ops 100
done
run "integrity, 4 ranks" managed 4 $predreg -- \
    mpirun --oversubscribe -np 4 "$apps/integrity" --seed 2 --ops 40
run "integrity, 4 threads a rank" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 3 --ops 30 --threads 4
# The adapter reads and writes the pages that were registered, whatever has come of
# the addresses. UCX 1.13 does not tell how memory is moved
run "arena, integrity" managed 2 $predreg --set ARENA=256M -- \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 4 --ops 60 --threads 1 \
    --no-moves
run "fork" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/forktest"
run "Figure 1, reuse" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 6 --verify
run "Figure 1, no reuse" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 6 --verify --no-reuse
run "memory of every kind" no_errors managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/memkinds"
run "transpose" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/transpose" --iters 4
# Each of these programs checks every byte it receives. The native suite has others, and other
# helpers: what is registered is the same
for kernel in cg ft is; do
    run "$kernel" managed 2 $predreg -- \
        mpirun --oversubscribe -np 2 "$apps/$kernel" --iters 3 --compute 50
done
run "ft, pencils, 4 ranks" managed 4 $predreg -- \
    mpirun --oversubscribe -np 4 "$apps/ft" --layout 2d --iters 2 --compute 50
# The native suite has the other patterns: what is registered is the same
run "irregular, random" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/irregular" --pattern random \
    --iters 20 --compute 20
run "many buffers" managed 2 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/manybuf" --iters 1
run "integrity, bound" at_most bytes_peak 6291456 managed 2 \
    env UCX_RCACHE_PRED_MAX_PINNED=6M $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 4 --ops 40
run "integrity, bound on regions, 4 threads a rank" \
    at_most regions_peak 4 managed 2 \
    env UCX_RCACHE_PRED_MAX_REGIONS=4 $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 5 --ops 20 --threads 4
run "integrity, bound of the node, 4 ranks" managed 4 \
    env UCX_RCACHE_PRED_NODE_MAX_PINNED=20M $predreg -- \
    mpirun --oversubscribe -np 4 "$apps/integrity" --seed 6 --ops 30
run "200 MB of buffers in 8 MB" pinned_at_most 8388608 manybuf \
    env UCX_RCACHE_PRED_MAX_PINNED=8M $predreg -- \
    mpirun --oversubscribe -np 2 "$apps/manybuf" \
        --size 4194304 --buffers 50 --iters 1
run "limit of locked memory" memlock 45000 \
    mpirun --oversubscribe -np 2 "$apps/manybuf" --buffers 12 --iters 1
run "a rank killed" killed
run "live counters, predict" live predict
[ -n "$ucx_1_16" ] || run "live counters, leave-pinned" live leave-pinned
for kernel in fig1 cg; do
    [ $kernel = cg ] && hits=100 || hits=25
    run "$kernel, replayed, predict" replayed predict 50 $hits \
        mpirun --oversubscribe -np 2 "$apps/$kernel" --iters 12
    run "$kernel, replayed, on-demand" replayed on-demand 10 0 \
        mpirun --oversubscribe -np 2 "$apps/$kernel" --iters 6
done
run "hpcc" hpcc_verified managed 2 $predreg -- \
    mpirun --oversubscribe -np 2
# Programs that are replayed as well are further up
run "recorded Figure 1, leave-pinned" recorded 2 leave-pinned \
    mpirun --oversubscribe -np 2 "$apps/fig1" --iters 5 --compute 50
run "recorded integrity, 4 threads a rank" recorded 2 predict \
    mpirun --oversubscribe -np 2 "$apps/integrity" --seed 7 --ops 15 --threads 4
run "recorded fork" recorded 2 predict \
    mpirun --oversubscribe -np 2 "$apps/forktest" --rounds 4
run "recorded, a rank killed" recorded_killed
run "recorded, disk full" recorded_full
# UCX's pools for the program's messages are 50 MB of that. With queues as long as
# theirs, those of Firehose would be another 24 MB
run "windows, what messages of Firehose pin" \
    env UCX_RCACHE_PRED_FIREHOSE_M=1M UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM=512K \
    UCX_RCACHE_PRED_WINDOWS=firehose \
    $predreg -- mpirun --oversubscribe -np 2 --mca osc ucx "$apps/windows" \
    --size 2m --touched 64k --ops 60 --rounds 1 --max-pinned 62m
run "several contexts" contexts
run "lean pools" lean_pools
if [ -z "$ucx_1_16" ]; then
    run "invalidating deregistration" $predreg -- "$apps/invalidate"
    run "invalidating deregistration, on-demand" \
        $predreg --policy on-demand -- "$apps/invalidate"
fi
run "a cache of UCX forced on" steps_aside
# With the default budget memory is given up for room alone
run "mappings under fork protection" managed 1 \
    $predreg --set BUDGET=1 --set HELPER=conservative --set MAX_REGIONS=16 -- \
    "$apps/forkmaps"
run "objects of a control group" objects 240 managed 2 env UCX_RNDV_THRESH=8192 \
    $predreg --set BUDGET=1 --set HELPER=conservative -- \
    mpirun --oversubscribe -np 2 "$apps/chunks" --buffers 400 --iters 6 --compute 20

rm -rf "$work"
echo DONE
