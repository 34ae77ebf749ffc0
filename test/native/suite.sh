#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Real programs in the native rig, under the preload. One line for each test,
# then DONE. A build with a sanitizer runs the programs under it.
#
# usage: suite.sh [--suite S] [--programs BUILD] BUILD-FOLDER [PATTERN]
#
#   PATTERN     only tests whose name has it
#   --suite S   with the UCX and MPI of Debian's suite S, see test/rig/README.md; the
#               library is the one in BUILD-FOLDER
#   --programs BUILD  with the programs and the rig of another build: no sanitizer is in
#               them

set -u
suite=
programs=
while [ $# -gt 1 ]; do
    case $1 in
    --suite)    suite=$2 ;;
    --programs) programs=$2 ;;
    *)          break ;;
    esac
    shift 2
done
build=$(cd "$1" && pwd)
programs=${programs:-$build}
pattern=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
apps=$programs/${suite:+$suite/}test/apps
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
limit=120 # seconds a program may take
rig="$top/test/rig/run.sh ${suite:+--suite $suite} --cma --build $programs
     --timeout $limit"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UCX_RCACHE_PRED_SUMMARY=json

$rig -- true || exit
export RIG_READY=1

# What the sanitizer this was built with needs: its library before all others
sanitizer=$(ldd "$library" | awk '/lib[at]san/ { print $3; exit }')
preload=${sanitizer:+$sanitizer:}$library
mpi_options=
case $sanitizer in
*tsan*)
    # Its functions for memory and the hooks of UCM and of Open MPI undo each
    # other, see events.c. It does not work where addresses are randomised
    # further than it expects.
    setarch -R true || { echo "setarch is not permitted"; exit 77; }
    preload=$programs/test/native/libevents.so:$sanitizer:$library
    rig="setarch -R $rig"
    export UCX_MEM_EVENTS=n OMPI_MCA_memory=^patcher
    # Open MPI and UCX are not compiled for it, so that it does not see how they
    # hand memory from thread to thread, such as what one thread receives onto the
    # stack of another: what they do by functions of the C library is ignored
    export TSAN_OPTIONS="exitcode=66 ignore_noninstrumented_modules=1 \
suppressions=$top/test/native/tsan.txt" ;;
*asan*)
    # Libraries of Open MPI that were unloaded, and so have no name any more, leave
    # memory behind: leaks are looked for in programs without it
    mpi_options=ASAN_OPTIONS=detect_leaks=0 ;;
esac

# shellcheck source=test/suite.sh
. "$top/test/suite.sh"

# job RANKS COMMAND...: an MPI program, of which the above holds
job()
{
    local ranks=$1
    shift
    managed "$ranks" $rig -- mpirun -np "$ranks" \
        env LD_PRELOAD="$preload" $mpi_options "$@"
}

# keys N[,again] COMMAND...: a job beside an adapter of so many keys
keys()
{
    local rig="$rig --adapter-keys $1"
    shift
    "$@"
}

# learns KEYS COMMAND...: a job beside an adapter of so many keys, a rank of which says so
# once, whose ranks all know the limit in the end, and which finds most of its buffers
# registered all the same
learns()
{
    keys "$@" > "$work/learns" 2>&1 || { cat "$work/learns"; return 1; }
    [ "$(grep -c 'has no more keys' "$work/learns")" -eq 1 ] || {
        echo "not said once: $(grep -c 'has no more keys' "$work/learns") times"
        return 1
    }
    awk -v keys="${1%,*}" "$value"'
        { hits += value("hits"); uses += value("uses") }
        !value("keys_limit") || !value("keys_peak") || value("keys_peak") > keys {
            print; exit bad = 1 }
        END { print hits, "of", uses, "uses are hits"; exit bad || hits < 0.6 * uses }' \
        "$work/summary"
}

# lent COMMAND...: a job beside an adapter all of whose keys the first two ranks of four have,
# and use no more: the others get keys, and find a third of their buffers registered
lent()
{
    keys 200 "$@" && awk "$value"'
        value("rank") >= 2 {
            print value("hits"), "of", value("uses"), "uses are hits,", value("refused"),
                  "refused"
            if (value("uses") < 1000 || value("hits") < 0.3 * value("uses")) bad = 1 }
        END { exit bad }' "$work/summary"
}

# squeezed MIB COMMAND...: a job whose control group has room for so many MiB. It waits for
# memory, and so gives up what it keeps otherwise. The kernel kills some processes of such
# a group, under stock UCX as well, see docs/benchmarks.md: that is tried again
squeezed()
{
    local rig="$top/test/rig/memory.sh $1 $rig" status try
    shift
    for try in 1 2 3 4; do
        status=0
        "$@" > "$work/squeezed" 2>&1 || status=$?
        grep -q "killed [1-9]" "$work/squeezed" || break
    done
    cat "$work/squeezed"
    [ $status -eq 0 ] || return $status
    awk "$value"'
        value("pressure_seconds") <= 0 { print "nobody has waited"; bad = 1 }
        value("budget_spent_seconds") < 0.02 * value("budget_time_seconds") {
            print "only the budget was spent"; bad = 1 }
        value("bytes_avg") > 0.95 * value("bytes_peak") { print "all was kept"; bad = 1 }
        END { exit bad }' "$work/summary"
}

# advised PROGRAM...: programs that are recorded, and run as their reports advise, have the
# memory that was promised. The processors of the rig are often shared with other work, so
# that the error may be somewhat more than that of contrib/evaluate.sh --advice
advised()
{
    rm -rf "$work/advised"
    $rig --adapter-cost 16,0.25 -- "$top/contrib/lib/advice.sh" -m "$build" "$work/advised" \
        "$@" && "$top/contrib/lib/advice.sh" --check "$work/advised" 0.2
}

# roomy COMMAND...: a job with room for its memory
roomy()
{
    "$@" && awk "$value"'
        value("pressure_seconds") != 0 { print "waits without need"; exit 1 }' "$work/summary"
}

# beside_stock KEYS BUFFERS COMMAND...: a job at the limit of so many keys, and beside it,
# once it has learned the limit, stock jobs with so many buffers a rank, one after the other
beside_stock()
{
    local keys=$1 buffers=$2
    shift 2
    # shellcheck disable=SC2016 # expanded in the rig
    managed 2 $rig --adapter-keys "$keys" -- bash -c '
        log=$1 preload=$2 buffers=$3 apps=$4
        shift 4
        LD_PRELOAD=$preload mpirun -np 2 "$@" > "$log" 2>&1 &
        ours=$!
        for ((i = 0; i < 300; ++i)); do
            ! grep -q "has no more keys" "$log" || break
            sleep 0.1
        done
        for ((i = 0; i < 3; ++i)); do
            mpirun -np 2 "$apps/manybuf" --buffers "$buffers" --iters 10 --compute 1 \
                --size 1m || failed=1
        done
        kill -0 $ours || echo "the job was over before"
        wait $ours && [ -z "${failed-}" ]' - "$work/beside" "$preload" "$buffers" "$apps" \
        "$@" || { cat "$work/beside"; return 1; }
}

# limited TEXT COMMAND...: a job whose registrations the kernel refuses for a limit of its
# own: a rank says so once, with this text, and no limit of keys is learned
limited()
{
    local text=$1
    shift
    "$@" > "$work/limited" 2>&1 || { cat "$work/limited"; return 1; }
    cat "$work/limited"
    [ "$(grep -c "refused to register .*$text" "$work/limited")" -eq 1 ] &&
        ! grep -q 'has no more keys' "$work/limited" &&
        awk "$value"' value("evictions_system") == 0 || value("keys_limit") >= 0 { bad = 1 }
                      END { exit bad }' "$work/summary"
}

# refused HOW COMMAND...: a job that is refused registrations in this way (see
# NATIVE_FAIL_REG), all ranks at first, then the second one alone
refused()
{
    local how=$1
    shift
    job 2 env NATIVE_FAIL_REG="$how" "$@" || return
    # shellcheck disable=SC2016 # expanded in the rank
    job 2 sh -c '
        [ "$OMPI_COMM_WORLD_RANK" != 1 ] || export NATIVE_FAIL_REG="$1"
        shift
        exec "$@"' - "$how" "$@"
}

# each_refusal COMMAND...: a job that is refused registrations once, for a while and for
# ever, in each way that devices do so
each_refusal()
{
    local how error
    for how in 5 5-40 5+; do
        for error in '' ,again ,perm; do
            refused "$how$error" "$@" || { echo "NATIVE_FAIL_REG=$how$error"; return 1; }
        done
    done
}

# unbound COMMAND...: a job whose ranks may run on all processors
unbound()
{
    (export OMPI_MCA_hwloc_base_binding_policy=none \
            PRTE_MCA_hwloc_default_binding_policy=none
     "$@")
}

# helper_used LEAST MOST COMMAND...: a job whose helper's thread has used such a part of
# a processor
helper_used()
{
    local least=$1 most=$2
    shift 2
    "$@" && awk -v least="$least" -v most="$most" "$value"'
            { used = value("helper_cpu_seconds") / value("duration_seconds") }
            (used < least) || (used > most) { print "helper used", used; bad = 1 }
            END { exit bad }' "$work/summary"
}

# Five times a second: the time, and for how long all processors together have been idle
sample_idle()
{
    while sleep 0.2; do
        awk 'FILENAME ~ /uptime/ { time = $1 }
             /^cpu / { print time, ($5 + $6) / 100 }' /proc/uptime /proc/stat
    done
}

# helper_used_if_idle THREADS COMMAND...: a job of so many threads whose helper's thread
# has done its work, if most of the time nobody else used the processors that the threads
# leave. On a machine that has other things to do the threads do that work
helper_used_if_idle()
{
    local left=$(($(nproc) - $1)) least pid status=0
    shift
    sample_idle > "$work/idle" &
    pid=$!
    "$@" || status=$?
    kill $pid
    wait $pid 2> /dev/null
    [ $status -eq 0 ] || return

    # As long as the job starts, its threads leave more
    least=$(awk -v left=$left '
        NR > 1 {
            idle  = ($2 - last) / ($1 - time)
            calm += (idle >= left - 0.15) && (idle < left + 0.5)
            busy += (idle < left - 0.15)
        }
        { time = $1; last = $2 }
        END {
            print calm + 0, "samples with idle processors,", busy + 0, \
                  "without" > "/dev/stderr"
            print (left > 0) && (calm > 2) && (calm > 4 * busy) ? 0.001 : 0
        }' "$work/idle")
    helper_used "$least" 1 awk "$value"'
        value("helper_rounds") < 10 { print "nobody has done its work"; bad = 1 }
        END { exit bad }' "$work/summary"
}

# lone RANK COMMAND...: a job of two ranks of which only this one has the library,
# for which the above holds
lone()
{
    local rank=$1
    shift
    # shellcheck disable=SC2016 # expanded in the rank
    managed 1 $rig -- mpirun -np 2 sh -c '
        [ "${OMPI_COMM_WORLD_RANK}" != "$1" ] || export LD_PRELOAD="$2"
        shift 2
        exec "$@"' - "$rank" "$preload" $mpi_options "$@"
}

# evicts COMMAND...: a job to each rank of which the system refuses memory, so that other
# memory gives way
evicts()
{
    "$@" && awk "$value"'
            value("evictions_system") == 0 { print "nothing gave way"; bad = 1 }
            END { exit bad }' "$work/summary"
}

# bound BYTES COMMAND...: a job that has more to register than so many bytes, and
# does not
bound()
{
    local bytes=$1
    shift
    with MAX_PINNED="$bytes" "$@" &&
        awk -v bytes="$bytes" "$value"'
            value("bytes_peak") > bytes { print "the bound is exceeded"; bad = 1 }
            { refused += value("refused") }
            END { exit bad || (refused == 0) }' "$work/summary"
}

# answered CONDITION COMMAND...: a job with an arena, in which uses were answered, and
# for each rank of which the condition of awk holds
answered()
{
    local condition=$1
    shift
    with ARENA=256M "$@" &&
        awk "$value"'
            value("arena_answered") < 1 { print "nothing answered"; bad = 1 }
            !('"$condition"') { print "not as expected"; bad = 1 }
            END { exit bad }' "$work/summary"
}

# protocols COMMAND...: what protocols UCP chooses for a job, on any rank
protocols()
{
    rm -f "$work"/ucx-*
    # A file for each process, since lines of several may be mixed up
    UCX_PROTO_INFO=y UCX_LOG_FILE=$work/ucx-%p "$@" || return
    sed -nE 's/^\[[^]]*\] +\[[^]]*\] +\|/|/; s/ +/ /g; /^\|/p' "$work"/ucx-* |
        sort -u > "$work/protocols"
    cat "$work/protocols"
    grep -q '| cma/memory' "$work/protocols"
}

# same_protocols: a bound that is not reached changes none of them
same_protocols()
{
    protocols $rig -- "${fig1[@]}" || return
    mv "$work/protocols" "$work/stock"
    with MAX_PINNED=512M protocols job 2 "${fig1[@]:3}" &&
        diff "$work/stock" "$work/protocols"
}

# features COMMAND...: with windows that the ranks of a node share, for which Open MPI
# has a component of its own
features()
{
    (export OMPI_MCA_osc=ucx,sm; "$@")
}

# recorded_arena COMMAND...: a recorded job with an arena, of which replay finds that as
# many uses would be answered as the job finds
recorded_arena()
{
    rm -rf "$work/traces"
    (export UCX_RCACHE_PRED_ARENA=256M UCX_RCACHE_PRED_TRACE="$work/traces"
        "$@") || return
    "$predreg" replay --json --policy predict,arena "$work/traces" \
        > "$work/replayed" || return
    cat "$work/replayed"
    awk "$value"'
        FNR == NR {
            answered += value("arena_answered")
            all += value("uses") + value("arena_answered")
            next
        }
        /"policy":"arena"/ { replayed = value("answered"); uses = value("uses") }
        END {
            # How long a slab takes to be registered differs
            exit (answered == 0) || (uses != all) || (replayed > uses) ||
                 (replayed < 0.8 * answered)
        }' "$work/summary" "$work/replayed"
}

# recorded_maps COMMAND...: a job of two ranks without an arena, whose traces tell what an
# arena could have served, and where they come from
recorded_maps()
{
    local trace key
    rm -rf "$work/traces"
    with TRACE="$work/traces" "$@" || return
    for trace in "$work"/traces/*.trace; do
        "$predreg" dump "$trace" > "$work/dumped" || return
        grep -q '^map ' "$work/dumped" ||
            { echo "$trace: no mapping"; return 1; }
        for key in 'cpus [1-9]' 'node_cpus [1-9]' 'node_ranks 2' 'kernel [1-9]' \
            'component cma' 'idle_cpus [0-9]' 'helper [a-z]'; do
            grep -q "^meta $key" "$work/dumped" ||
                { echo "$trace: no meta $key"; return 1; }
        done
    done
}

# relocated_hooks COMMAND...: hooks of UCX in another place, beside which Open MPI's are
# left as they are
relocated_hooks()
{
    (export UCX_MEM_MMAP_HOOK_MODE=reloc; "$@")
}

# without_hooks COMMAND...: without memory hooks of UCX, from mpirun on, since the
# library sets a variable for the programs that a process starts
without_hooks()
{
    (export UCX_MEM_MMAP_HOOK_MODE=none; "$@")
}

# refused_arena COMMAND...: where UCX does not tell which uses no peer has access
# to, an arena for these alone would pin memory and answer nothing
refused_arena()
{
    (export UCX_RCACHE_PRED_ARENA=64M UCX_RCACHE_PRED_ARENA_KEYS=use; "$@") \
        > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    grep -q "there is no arena: .* takes UCX 1.16" "$work/said" &&
        ! grep -q '"arena_committed":[1-9]' "$work/summary"
}

# firehose_app ONE_SIDED COMMAND...: a program that measures Firehose: it tells of no
# errors, and UCX does not either
firehose_app()
{
    local one_sided=$1
    shift
    no_errors $rig -- env NATIVE_ONE_SIDED="$one_sided" "$@" &&
        grep -q '^{.*"errors":0,.*}$' "$work/said"
}

# one_sided COMMAND...: with puts and gets that need nobody at the target; the command may
# be a function
one_sided()
{
    (export NATIVE_ONE_SIDED=1; "$@")
}

# with NAME=VALUE COMMAND...: with a knob set; the command may be a function
with()
{
    local knob=$1
    shift
    (export "UCX_RCACHE_PRED_$knob"; "$@")
}

# loop VARIABLE=VALUE...: the program that is run with failures: one process,
# all of the library
loop()
{
    rm -rf "$work/traces"
    env "$@" UCX_RCACHE_PRED_TRACE="$work/traces" \
        UCX_RCACHE_PRED_SUMMARY_FILE="$work/summary" \
        $rig -- env LD_PRELOAD="$build/test/native/libfault.so:$preload" \
        "$apps/contexts" 2 2>&1
}

# with_failure VARIABLE=VALUE: the program ends right. If it does not, the
# failure and what the program said are printed
with_failure()
{
    loop "$1" > "$work/one" && return
    echo "$1: status $?"
    head -n 30 "$work/one"
    return 1
}

# How many calls of that kind the program makes
calls()
{
    rm -f "$work/stat"
    loop FAULT_COUNT=1 NATIVE_STAT="$work/stat" > "$work/counts"
    case $1 in
    registrations|deregistrations) each "$1" ;;
    *) awk -v kind="$1" '/^fault: / && ($3 == kind) { print $2 }' \
           "$work/counts" ;;
    esac
}

# each FIELD: the values of a field of the statistics, a line for each process
each()
{
    sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$work/stat"
}

# pinned RANKS CONDITION COMMAND...: the command passes, and a condition holds of
# the statistics of each rank: an expression of awk, in which value("FIELD") is a
# field
pinned()
{
    local ranks=$1 condition=$2
    shift 2
    rm -f "$work/stat"
    NATIVE_STAT=$work/stat "$@" || return
    cat "$work/stat"
    awk -v ranks="$ranks" "$value"'
        !('"$condition"') { print "this is not so"; bad = 1 }
        END { exit bad || (NR != ranks) }' "$work/stat"
}

# two_regions COMMAND...: a job of 2 ranks, each of which has two regions registered at most,
# and registers more than three in all. Two of three buffers beside each other may be one
# region
two_regions()
{
    rm -f "$work/summary"
    UCX_RCACHE_PRED_SUMMARY_FILE=$work/summary "$@" || return
    awk "$value"'
        (value("regions_peak") != 2) || (value("regs_critical") <= 3) {
            print "more than two at a time, or never a third one"; bad = 1
        }
        END { exit bad || (NR != 2) }' "$work/summary"
}

# watch_pinned MIB COMMAND...: the command passes, and in each rank what the kernel
# counts as pinned grows to so many MiB, stays there, and shrinks but once
watch_pinned()
{
    local kib=$((1024 * $1))
    shift
    $rig -- "$apps/pinwatch" -i 5 -o "$work/pins" -- "$@" || return
    awk -F, -v kib=$kib '
        NR > 1 {
            if ($3 + 0 > kib) { print "at " $1 " ms: " $3 " KiB"; bad = 1 }
            if ($3 + 0 < last[$2]) shrunk[$2] = 1
            if ($3 + 0 > last[$2] && shrunk[$2]) {
                print "pid " $2 " pins again at " $1 " ms"
                bad = 1
            }
            last[$2] = $3 + 0
            full[$2] += ($3 + 0 == kib)
        }
        END {
            for (pid in full) {
                print "pid " pid ": " full[pid] " samples of " kib " KiB"
                if (full[pid] < 5) bad = 1
                ++n
            }
            exit bad || (n != 2)
        }' "$work/pins"
}

# Of so many calls, one fails. The library is the same in each generation, and a run takes
# longer in another one than this machine's
step=${suite:+5}
step=${step:-1}

# seldom COMMAND...: a test in which each fifth call fails
seldom()
{
    local step=5
    "$@"
}

# each_of COMMAND...: the command with each line of the input as its first argument, as many
# at a time as there are processors, each of these in a folder of its own; fails if one does
each_of()
{
    local all=$work lines num i j pids=() failed=0
    mapfile -t lines
    num=$(nproc)
    for ((i = 0; i < num; ++i)); do
        (work=$all/of-$i
         mkdir -p "$work"
         for ((j = i; j < ${#lines[@]}; j += num)); do
             "$1" "${lines[j]}" "${@:2}" || failed=1
         done
         exit $failed) > "$all/of-$i.log" 2>&1 < /dev/null &
        pids+=($!)
    done
    for ((i = 0; i < num; ++i)); do
        wait "${pids[i]}" || failed=1
        cat "$all/of-$i.log"
    done
    return $failed
}

# Each call of a kind fails in a run of its own; and that for each of these
# settings, in which @ stands for the number of the call
#   every KIND VARIABLE=VALUE...
every()
{
    local kind=$1 count i setting
    shift
    count=$(calls "$kind")
    echo "$count $kind"
    [ "${count:-0}" -gt 0 ] || return
    for ((i = 1; i <= count; i += step)); do
        for setting in "$@"; do
            echo "${setting/@/$i}"
        done
    done | each_of with_failure
}

# sampled COUNT: numbers of calls, each of the first 60, and 30 of all others; or so many
# times less, as above
sampled()
{
    local i
    for ((i = 1; i <= $1; i += (i < 60) ? step : $1 * step / 30 + 1)); do
        echo $i
    done
}

# with_fault VARIABLE=VALUE... COMMAND...: calls of Firehose and of windows fail, or are
# counted. What they say besides is where the first one that fails comes from
with_fault()
{
    $rig -- env LD_PRELOAD="$build/test/native/libfault.so" FAULT_LIBRARY=libucp_ "$@" 2>&1
}

# allocation_fails WHICH VARIABLE=VALUE... COMMAND...: the program goes on if an allocation
# fails
allocation_fails()
{
    local which=$1
    shift
    with_fault FAULT="memory:$which" "$@" > "$work/one" && return
    echo "FAULT=memory:$which: status $?"
    head -n 30 "$work/one"
    return 1
}

# each_allocation FURTHER VARIABLE=VALUE... COMMAND...: a program goes on if an allocation
# fails, and, with FURTHER, that and all that follow; with --strict no call may fail
each_allocation()
{
    local further=$1 count i
    shift
    count=$(with_fault FAULT_COUNT=1 "$@" --strict |
        awk '/^fault: .* memory/ && $2 > n { n = $2 } END { print n + 0 }')
    echo "$count allocations"
    [ "$count" -gt 100 ] || return
    for i in $(sampled "$count"); do
        printf '%s\n' "$i" ${further:+"$i+"}
    done | each_of allocation_fails "$@" && with_fault FAULT=thread:1 "$@"
}

# failing_job NUMBER COMMAND...: an MPI program whose windows go through Firehose, with
# the allocation of that number failing in its first rank. MPI may end it, but no rank may
# hang, nor find a wrong byte, nor crash but in MPI: stock UCX 1.13 and Open MPI 4.1 do that
# as well where a key cannot be unpacked
failing_job()
{
    local number=$1 status=0
    shift
    # shellcheck disable=SC2016 # expanded in the rank
    $rig -- mpirun -np 2 sh -c '
        export LD_PRELOAD="$2"
        [ "${OMPI_COMM_WORLD_RANK}" != 0 ] ||
            export LD_PRELOAD="$1:$2" FAULT_LIBRARY=libucp_ FAULT="memory:$3"
        shift 3
        exec "$@"' - "$build/test/native/libfault.so" "$preload" "$number" "$@" \
        > "$work/one" 2>&1 || status=$?
    [ $status -ne 124 ] && ! grep -q '"errors":[1-9]\|wrong' "$work/one" &&
        { ! grep -q 'on signal' "$work/one" || grep -q 'mca_osc_ucx' "$work/one"; } &&
        return
    echo "FAULT=memory:$number: status $status"
    head -n 40 "$work/one"
    return 1
}

# failing_jobs COMMAND...: of the allocations of a job of some 12000, a few at the start and
# some of the rest
failing_jobs()
{
    local i failed=0
    for i in 3 15 20 27 33 41 57 78 120 401 1009 3001 7001 11003; do
        failing_job $i "$@" || failed=1
    done
    return $failed
}

# in_pieces COMMAND...: a job of which a rank registers messages in pieces; nothing
# is complained of
in_pieces()
{
    "$@" > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    ! grep -q WARN "$work/said" &&
        grep -q '"in_pieces":[1-9]' "$work/summary"
}

# Figure 1: each of 3 buffers of 5 MiB is used 50 times
fig1=(mpirun -np 2 "$apps/fig1" --iters 50 --compute 2 --verify)
predreg=$build/src/tools/predreg/ucx_predreg

# Stock UCX in the rig, with its own cache and without our library; then as
# policies of it. Each of its 3 registrations is of 1280 pages.
stock_tests()
{
    # Up to UCX 1.15 the cache is the domain's, and counts as it does there; from
    # 1.16 on it is UCP's, above the domain
    local cached='value("uses") == 150 && value("registrations") == 3'
    local bound=UCX_CMA_RCACHE_MAX_REGIONS=2 off=UCX_CMA_REG_METHODS=direct
    # What is sent to the process itself is registered on both sides, or on one
    local itself='value("uses") == 300 && value("pinned_peak_bytes") == 31457280'
    case $suite in trixie|unstable)
        cached='value("uses") == 3 && value("registrations") == 3'
        bound=UCX_RCACHE_MAX_REGIONS=2 off=UCX_RCACHE_ENABLE=n
        itself='value("uses") == 3 && value("pinned_peak_bytes") == 15728640' ;;
    esac
    local peak='value("pinned_peak_bytes")' mib=1048576
    local average='value("pinned_average_bytes")'

    run "stock UCX keeps memory registered" pinned 2 \
        "$cached && $peak == 15 * $mib" $rig -- "${fig1[@]}"
    run "stock UCX keeps it pinned" watch_pinned 15 "${fig1[@]}"
    run "policy leave-pinned is stock UCX" pinned 2 "$cached" \
        $rig -- "$predreg" run --policy leave-pinned -- "${fig1[@]}"
    run "components that are not chosen keep their cache" pinned 2 "$cached" \
        env UCX_RCACHE_PRED_COMPONENTS=ib \
        $rig -- "$predreg" run -- "${fig1[@]}"
    run "policy on-demand registers for each use" pinned 2 \
        "value(\"registrations\") == 150 && $peak == 5 * $mib" \
        $rig -- "$predreg" run --policy on-demand --set PIECES=n -- "${fig1[@]}"
    run "policy on-demand, in pieces" pinned 2 \
        "value(\"registrations\") >= 150 && $peak <= 5 * $mib" \
        $rig -- "$predreg" run --policy on-demand -- "${fig1[@]}"
    run "one rank that exchanges with itself" pinned 1 \
        "$itself" $rig -- mpirun -np 1 "$apps/fig1" --iters 50 --compute 2 --verify
    run "UCX's cache bounded to two regions" pinned 2 \
        "value(\"registrations\") == 150 && $average < 11 * $mib" \
        env "$bound" $rig -- "${fig1[@]}"
    run "that bound beside the library" two_regions \
        env "$bound" $rig -- "$predreg" run -- "${fig1[@]}"
    run "UCX's cache switched off" pinned 2 "$peak == 5 * $mib" \
        env "$off" $rig -- "${fig1[@]}"
    run "what an adapter adds" pinned 2 \
        'value("adapter_seconds") == 0.013680' \
        $rig --adapter-cost 1000,2 -- "${fig1[@]}"
    run "what it adds to a deregistration" pinned 2 \
        'value("adapter_seconds") == 0.009180' \
        $rig --adapter-cost 0,1.5,500,0.5 -- "${fig1[@]}"
    # Of 1280 pages 1024 are in two huge ones: 1.55 ms in place of 7.68
    grep -qF '[never]' /sys/kernel/mm/transparent_hugepage/enabled ||
        run "an adapter that is told pieces" pinned 2 'value("adapter_seconds") < 0.004' \
            env NATIVE_PIECES=1 $rig --adapter-cost 0,2 -- "${fig1[@]}" --huge 1
    # Of its buffers every second one is unmapped or moved before its next use:
    # 0.78 of the uses register, and 0.48 if UCX's cache is not told of that
    run "stock UCX, integrity" pinned 2 \
        'value("registrations") > 0.65 * value("uses")' \
        $rig -- mpirun -np 2 "$apps/integrity" $messages --seed 2
    run "stock UCX, ucx_perftest" pinned 2 'value("registrations") > 0' perftest
    run "stock UCX, fork" $rig -- mpirun -np 2 "$apps/forktest"
    run "more than one registration or ring of io_uring holds" watch_pinned 15 \
        env NATIVE_PART_BYTES=1048576 NATIVE_SLOTS=4 "${fig1[@]}"
    run "locked memory of too few bytes" skips "locked memory is limited" \
        env RIG_MEMLOCK=900 $rig -- true
    # The same whatever the suite
    [ -n "$suite" ] || run "a suite without a mirror" \
        skips "127.0.0.1\|only root\|mmdebstrap" \
        env RIG_MIRROR=http://127.0.0.1:9/ RIG_PACKAGES=bash \
        "$top/test/rig/run.sh" --suite trixie --cma -- true
    if [ -n "$suite" ]; then
        run "stock UCX under MPICH" pinned 2 "$cached" mpich
        run "headers of this UCX" headers
    fi
    run "a build without the rig" skips "not built" \
        "$top/test/rig/run.sh" --cma --build /usr -- true
}

# Both ends of a transfer by UCX's own program, which takes its standard input for
# that of an MPI launcher unless it is a terminal
perftest()
{
    # shellcheck disable=SC2016 # expanded by the inner shell
    $rig -- bash -c '
        ucx_perftest -c 0 < /dev/ptmx & server=$!
        for ((i = 0; i < 50; ++i)); do
            ucx_perftest -c 1 -t tag_bw -s 5000000 -n 50 localhost < /dev/ptmx &&
                wait $server && exit
            kill -0 $server || exit
            sleep 0.1
        done'
}

# Figure 1 under the suite's MPICH
mpich()
{
    "$top/test/rig/build.sh" --mpich "$suite" "$build" &&
        $rig -- mpirun.mpich -np 2 \
            "$build/$suite-mpich/test/apps/${fig1[3]##*/}" "${fig1[@]:4}"
}

# As many uses are seen of UCX in a plug-in, for nobody else to find
# (RTLD_LOCAL), as of UCX in a program: loadall calls it twice
plugged_in()
{
    local uses
    managed 1 $rig -- env LD_PRELOAD="$preload" "$apps/selftalk" || return
    uses=$(awk "$value"'{ print value("uses") }' "$work/summary")
    managed 1 $rig -- env LD_PRELOAD="$preload" "$apps/loadall" "$@" \
        "$apps/.libs/selftalk.so" &&
        awk -v uses="$uses" "$value"'
            value("uses") != 2 * uses { print "not all uses are seen"; bad = 1 }
            END { exit bad }' "$work/summary"
}

# The library is built with the headers of the suite's UCX, without a complaint
headers()
{
    # shellcheck disable=SC2016 # expanded in the root
    "$top/test/rig/run.sh" --suite "$suite" --native -- sh -c '
        make -C "$1" -s -j2 ACLOCAL=: AUTOCONF=: AUTOMAKE=: AUTOHEADER=: \
            CFLAGS="-O0 -Werror"' - "$build/$suite/src"
}

# skips TEXT COMMAND...: the command ends with 77, and says that
skips()
{
    local text=$1 status=0
    shift
    "$@" > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ $status -eq 77 ] && grep -q "$text" "$work/said"
}

# steps_aside COMMAND...: a program of one process passes, says once why nothing is
# managed, and has no more registered than what it is just using
steps_aside()
{
    local status=0
    pinned 1 'value("registrations") == value("uses") &&
              value("pinned_peak_bytes") < 3 * 1048576' "$@" \
        > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ $status -eq 0 ] && [ "$(grep -c 'steps aside: memory events' "$work/said")" = 1 ]
}

# A tool that counts what passes through MPI's profiling interface, preloaded after
# the library, sees all messages of a rank
profiled()
{
    # shellcheck disable=SC2016 # expanded in the root of the suite
    $rig -- sh -c 'cc -shared -fPIC -o "$1" -x c "$2" $(pkg-config --cflags ompi-c)' \
        - "$work/tool.so" "$top/test/native/pmpi.c" &&
        preload=$preload:$work/tool.so job 2 "${fig1[@]:3}" > "$work/said" 2>&1
    local status=$?
    cat "$work/said"
    [ $status -eq 0 ] && [ "$(grep -c 'tool: 150 messages' "$work/said")" = 2 ]
}

# follows COMMAND...: what follows the uses of some buffers is expected of others, of two at
# least in each rank. It is for six of them where the helper has its turn between any two.
follows()
{
    "$@" &&
        awk "$value"'
            value("precedents") < 2 { print "nothing was expected"; bad = 1 }
            END { exit bad }' "$work/summary"
}

# A program with AddressSanitizer, which has to be preloaded before the library
with_asan()
{
    # shellcheck disable=SC2016 # expanded in the root of the suite
    managed 1 $rig -- sh -c '
        cc -g -fsanitize=address -o "$1" "$2" $(pkg-config --cflags --libs ucx) &&
            LD_PRELOAD=$(cc -print-file-name=libasan.so) \
                ASAN_OPTIONS=detect_leaks=0 "$3" run --summary=json -- "$1" 2' \
        - "$work/asan" "$top/test/apps/contexts.c" "$predreg"
}

# The program that does what programs do with memory, with AddressSanitizer, in a job
# of two ranks
integrity_with_asan()
{
    # shellcheck disable=SC2016 # expanded in the root of the suite
    $rig -- sh -c '
        program=$1
        shift
        mpicc -g -D_GNU_SOURCE -fsanitize=address -o "$program" "$@" -lpthread &&
            cc -print-file-name=libasan.so' - "$work/integrity" \
        "$top"/test/apps/{integrity,integrity_messages,integrity_rma,churn,options}.c \
        > "$work/asan-library" || { cat "$work/asan-library"; return 1; }
    # What Open MPI leaves behind is none of this
    preload="$(tail -n 1 "$work/asan-library"):$preload" \
        job 2 env ASAN_OPTIONS=detect_leaks=0 "$work/integrity" "$@"
}

# What small sends cost on a machine where a copy takes 1 us and a registration 8 us, so
# that what becomes hot does not depend on this one
some_costs="8000000 1000 15000$(printf ' 1000000%.0s' $(seq 64))"

# small HOT PROGRAM OPTION...: a program of one process sends small messages over TCP,
# which takes both those that are copied and those that are not, and gets all as they
# were; nothing stays registered. HOT is a condition of awk on the summary. CMA is
# there since the memory of hot buffers is registered with it: it must not be used by
# UCX 1.18, which hangs with it when a process sends to itself. Buffers become hot soon,
# whatever a registration costs here.
small()
{
    local hot=$1 program=$2 status=0
    shift 2
    rm -f "$work/summary"
    UCX_RCACHE_PRED_SUMMARY_FILE=$work/summary UCX_TLS=tcp,cma \
        UCX_RNDV_THRESH=16k UCX_ZCOPY_THRESH=256 $rig -- \
        env LD_PRELOAD="$preload" \
        UCX_RCACHE_PRED_EAGER="${eager:-y}" \
        UCX_RCACHE_PRED_EAGER_FRACTION="${fraction:-1}" \
        PREDREG_TEST_EAGER_COSTS="${costs-$some_costs}" \
        "$apps/$program" "$@" > "$work/said" 2>&1 || status=$?
    tail -n 20 "$work/said"
    cat "$work/summary"
    [ $status -eq 0 ] && grep -q '"wrong": 0' "$work/said" &&
        awk "$value"'
            value("bytes_now") != 0 { print "memory left registered"; bad = 1 }
            !('"$hot"') { print "this is not so"; bad = 1 }
            END { exit bad || (NR != 1) }' "$work/summary"
}

# Small messages by each call, from buffers that are used again and again
small_tests()
{
    local most='value("eager_hot") > 0.8 * value("eager_sends") &&
                value("eager_sends") > 1000 && value("uses") > 0'
    local some='value("eager_hot") > 100'

    run "small messages by tag" small "$most" smallsends --op tag
    run "small messages, active ones" small "$most" smallsends --op am
    case $suite in
    # UCX 1.13 has the processor take all messages of a stream over TCP
    ''|bookworm) run "small messages of a stream" \
        small 'value("eager_hot") == 0' smallsends --op stream ;;
    *) run "small messages of a stream" small "$most" smallsends --op stream ;;
    esac
    for op in tag am; do
        run "small messages of two lengths, $op" small "$most" \
            smallsends --op $op --mixed --size 7000 --buffers 6
        run "small messages, many at a time, $op" small "$most" \
            smallsends --op $op --callback --buffers 32 --flying 32
        run "small messages, mapped anew, $op" small "$some" \
            smallsends --op $op --remap 200
    done
    run "small messages from neighbours in a page" small "$most" \
        smallsends --size 700 --buffers 20
    # They are copied
    run "small messages that a program waits for" \
        small 'value("eager_sends") > 1000 && value("eager_hot") == 0 &&
               value("eager_buffers_hot") == 0' smallsends --fast
    fraction=100 run "small messages without reuse" small 'value("eager_hot") == 0' \
        smallsends --sends 3000 --buffers 3000 --distance 4096
    eager=n run "small messages as ever" \
        small 'value("eager_sends") == 0 && value("eager_buffers_hot") == 0 &&
               value("eager_hot") == 0' smallsends
    run "small messages, recorded" recorded
    run "small messages of threads, recorded" \
        with TRACE="$work/traces" small 1 sendstorm --sends 3000 --forks 3
}

# recorded_as EAGER WENT: small sends are in the trace of a process, whether they are
# looked at or not. As many went without the copy as WENT says, a condition of awk;
# the report says what it would save
recorded_as()
{
    rm -rf "$work/traces"
    eager=$1 costs='' with TRACE="$work/traces" small 1 smallsends || return
    ("$predreg" replay --json --policy leave-pinned "$work/traces" &&
         "$predreg" report -o "$work/report.html" "$work/traces") \
        > "$work/replayed" || return
    cat "$work/replayed"
    sed -n '/What eager zero-copy/p' "$work/report.html" | sed 's/<[^>]*>//g'
    grep '"eager":' "$work/replayed" | awk "$value"'
        value("calibrated") != 1 || value("hot_buffers") < 0 { bad = 1 }
        value("sends") < 1000 || value("buffers") < 1 { bad = 1 }
        !('"$2"') { print "this is not so"; bad = 1 }
        END { exit bad || (NR != 1) }' &&
        grep -q 'small sends would go without the copy' "$work/report.html"
}

# The costs in the trace are those of this machine. None of what measures them is recorded
recorded()
{
    recorded_as y 'value("went") > 100' && recorded_as n 'value("went") == 0'
}

# says_twice PATTERN COMMAND...: a job of two ranks passes, and each of them says so once
says_twice()
{
    local pattern=$1 status=0
    shift
    "$@" > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ $status -eq 0 ] && [ "$(grep -c "$pattern" "$work/said")" -eq 2 ]
}

# small_job HOT COMMAND...: a job that sends small messages to and fro over TCP. HOT is
# a condition of awk on the summary of each rank
small_job()
{
    local hot=$1
    shift
    rm -f "$work/summary"
    UCX_RCACHE_PRED_SUMMARY_FILE=$work/summary UCX_TLS=tcp,cma,self \
        UCX_RNDV_THRESH=16k UCX_RCACHE_PRED_EAGER=y \
        UCX_RCACHE_PRED_EAGER_FRACTION=1 \
        $rig -- env PREDREG_TEST_EAGER_COSTS="$some_costs" "$@" > "$work/said" 2>&1 ||
        return
    cat "$work/said" "$work/summary"
    grep -q '"wrong": 0' "$work/said" &&
        awk "$value"'
            !('"$hot"') { print "this is not so"; bad = 1 }
            END { exit bad || (NR != 2) }' "$work/summary"
}

# Threads, forks, and memory that comes and goes
storm_tests()
{
    local some='value("eager_hot") > 100' bound
    local many="--large --distinct 1000"

    run "small messages of threads" small "$some" sendstorm --sends 3000
    run "small messages of threads of one worker" \
        small "$some" sendstorm --sends 3000 --shared
    run "small messages, fork" small "$some" sendstorm --sends 3000 --forks 5
    run "small messages, endpoints closed with sends in flight" \
        small "$some" sendstorm --sends 300 --rounds 5 --abort
    run "small messages, workers destroyed with sends in flight" \
        small "$some" sendstorm --sends 300 --rounds 5 --destroy
    run "small messages of many contexts" small 'value("eager_sends") > 1000' \
        sendstorm --sends 3 --threads 1 --rounds 100
    for bound in MAX_PINNED=256K MAX_PINNED=4M MAX_REGIONS=4 MAX_REGIONS=64; do
        run "small messages beside large ones, $bound" \
            with $bound small 'value("eager_sends") > 1000' \
            sendstorm --sends 2000 $many
    done
}

# allocating [LIBRARY]: threads that allocate all the time beside forks, with an arena,
# under this allocator, or else that of libc. Every byte is looked at
allocating()
{
    local allocator=
    if [ $# -gt 0 ]; then
        # shellcheck disable=SC2016 # expanded in the root of the suite
        allocator=$($rig -- sh -c 'ls /usr/lib/*/"$1"' - "$1" 2> /dev/null)
        [ -n "$allocator" ] || { echo "there is no $1"; return 77; }
    fi
    rm -f "$work/summary"
    # glibc and tcmalloc extend the heap otherwise
    with ARENA=256M env UCX_RCACHE_PRED_SUMMARY_FILE="$work/summary" \
        MALLOC_MMAP_THRESHOLD_=131072 TCMALLOC_SKIP_SBRK=1 $rig -- \
        env LD_PRELOAD="$preload${allocator:+:$allocator}" \
        "$apps/mallocs" --threads 4 --ops 1000 --forks 5 --verify || return
    cat "$work/summary"
    # What is used again at once was filled with zeros
    awk "$value"'
        value("arena_zero_seconds") <= 0 && value("arena_live") <= 0 {
            print "nothing came from the arena"
            bad = 1
        }
        END { exit bad || (NR != 1) }' "$work/summary"
}

# A program that allocates and does not communicate: the arena has addresses for it, and
# nothing is registered
unused_arena()
{
    allocating || return
    awk "$value"'
        value("arena_bytes_peak") > 0 { print "slabs were registered"; bad = 1 }
        value("arena_committed") < 1 { print "there is no arena"; bad = 1 }
        END { exit bad || (NR != 1) }' "$work/summary"
}

# Threads map and unmap at each fork, and UCX sets its caches up in the children,
# as this library takes none of them here
map_and_fork()
{
    env UCX_RCACHE_PRED_COMPONENTS=ib MALLOC_MMAP_THRESHOLD_=131072 \
        $rig -- env LD_PRELOAD="$preload" \
        "$apps/mallocs" --threads 4 --ops 4000 --forks 20
}

# Memory of the arena, which sanitizers' allocators do not take: see docs/design/arena.md
arena_tests()
{
    # The arena has to see how memory is moved, which hooks of UCX 1.13 do not
    local moves=--seen-moves
    [ -n "$suite" ] && [ "$suite" != bookworm ] || moves=--no-moves

    # One use of each of three buffers finds a slab that is not registered yet, and
    # further ones may while it is being registered
    run "arena, Figure 1" answered \
        'value("uses") + value("arena_answered") == 30 && value("uses") <= 12' \
        job 2 "$apps/fig1" --compute 2 --verify
    run "arena, nothing is pinned for memory that nobody gets" unused_arena
    run "arena, Figure 1, recorded and replayed" recorded_arena \
        job 2 "$apps/fig1" --compute 2 --verify
    run "mappings, recorded without an arena" recorded_maps \
        job 2 "$apps/fig1" --compute 2 --verify
    run "arena asked for, UCX's hooks in another place" relocated_hooks \
        with ARENA=64M job 2 "$apps/fig1" --compute 2 --verify
    run "arena, integrity, 2 ranks of 4 threads" answered 1 \
        job 2 "$apps/integrity" $moves --threads 4
    run "arena, strict" answered 1 with ARENA_STRICT=y \
        job 2 "$apps/integrity" $moves $messages --seed 8
    run "arena, small slabs, bound" answered \
        'value("bytes_peak") <= 8 * 1048576' \
        with MAX_PINNED=8M job 2 "$apps/integrity" $moves $messages --seed 9
    run "arena, on demand" answered 1 with POLICY=on-demand \
        job 2 "$apps/integrity" $moves $messages --seed 10
    run "arena, small messages without the copy" answered 1 with EAGER=y \
        job 2 "$apps/integrity" $moves $messages --seed 11
    run "arena, fork" answered 1 job 2 "$apps/forktest"
    run "arena, memory unmapped in handlers of signals" \
        answered 1 job 2 "$apps/sigstorm"
    # The program uses UCT alone, which the library takes part in on UCX 1.13 only;
    # slabs of 4 MiB, by the bound, of which some are given back and spoilt
    [ -n "$suite" ] || for setting in ARENA_STRICT=n ARENA_STRICT=y; do
        run "arena, memory changed in handlers of signals, $setting" answered 1 \
            with MAX_PINNED=16M with $setting managed 1 \
            $rig -- env LD_PRELOAD="$preload" "$apps/mapstorm" cma
    done
    run "arena, threads that allocate, fork" allocating
    for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
        run "arena, threads that allocate, fork, $allocator" \
            allocating $allocator
    done
    run "arena, strict, threads that allocate, fork" \
        with ARENA_STRICT=y allocating
    run "arena, several contexts" answered 1 \
        managed 1 $rig -- env LD_PRELOAD="$preload" "$apps/contexts"
    for setting in ARENA_STRICT=n ARENA_STRICT=y; do
        run "arena beside AddressSanitizer in the program, $setting" answered 1 \
            with $setting integrity_with_asan $moves --threads 4
    done
    case $suite in
    trixie|unstable)
        run "arena, keys of uses alone" answered 1 with ARENA_KEYS=use \
            job 2 "$apps/integrity" $moves $messages --seed 12 ;;
    *)
        # Open MPI 5 leaves the context for windows open, and so a slab registered
        run "arena, parts of MPI, 2 ranks" answered 1 \
            features job 2 "$apps/mpi_features" --skip spawn --bytes 1m ;;
    esac
}

# What of it the program maps itself, in programs and a library with AddressSanitizer,
# and that nothing seems to be lost at the exit
arena_asan_tests()
{
    run "arena, several contexts" with ARENA=64M \
        managed 1 $rig -- env LD_PRELOAD="$preload" "$apps/contexts"
    run "arena, integrity, 2 ranks of 4 threads" answered 1 \
        job 2 "$apps/integrity" --no-moves --threads 4
}

# pinned_by_firehose RANKS BYTES CONDITION COMMAND...: processes beside which the library
# is, all of what is registered within so many bytes, and the condition of awk holds for
# each of them
pinned_by_firehose()
{
    local ranks=$1 bytes=$2 condition=$3
    shift 3
    with MAX_PINNED="$bytes" managed "$ranks" "$@" &&
        awk -v bytes="$bytes" "$value"'
            value("bytes_peak") > bytes || value("kernel_pinned_bytes") > bytes {
                print "the bound is exceeded"
                bad = 1
            }
            value("firehose_bytes") > 0 || value("firehose_regions_now") > 0 {
                print "something is registered at the end"
                bad = 1
            }
            !('"$condition"') { print "not as expected"; bad = 1 }
            END { exit bad }' "$work/summary"
}

# What the program counts is what the summary has
firehose_counts()
{
    "$@" > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    awk "$value"'
        FNR == NR && /^fhbound: .* requests/ { requests += $2; hits += $4; next }
        FNR == NR { next }
        { bad = (value("firehose_requests") != requests) ||
                (value("firehose_hits") != hits) }
        END { exit bad || (requests == 0) || (hits == 0) }' \
        "$work/said" "$work/summary"
}

# Firehose by itself: the sanitizer's library comes before all others, but for the one
# that comes before it. The programs are started without libtool's scripts, whose shell
# does not run under the thread sanitizer
firehose_sanitized_tests()
{
    local -x UCX_VFS_ENABLE=n LD_LIBRARY_PATH=$build/src/ucp/.libs
    local firehose="env LD_PRELOAD=${preload%:*} $apps/.libs/firehose"

    run "Firehose, 2 processes of 2 threads" no_errors $rig -- $firehose --ops 100
    run "Firehose, pages, room for few" no_errors $rig -- $firehose --procs 3 \
        --threads 3 --m 192k --maxvictim 64k --most 12k --ops 100
    run "Firehose, threads share a worker" no_errors $rig -- $firehose \
        --procs 3 --shared --ops 50
}

# Firehose: the program starts its processes itself, and compares what it writes and
# what the kernel counts as pinned. Without the library under test first; with it, what
# the program sends from stays registered as well if it is expected to be used again
firehose_tests()
{
    # Processes are forked once UCX has been loaded. Its thread for the file system
    # of its objects may be mapping memory just then, and has a lock that no child
    # gets: see docs/coexistence.md
    local -x UCX_VFS_ENABLE=n
    # One binary for all versions of UCX
    local apps="$build/test/apps"
    local firehose="$apps/firehose" bound="$apps/fhbound"
    local hits='value("firehose_requests") > value("firehose_hits") &&
                value("firehose_hits") > 0 && value("firehose_bytes_peak") > 0'
    local beside="env LD_PRELOAD=$preload UCX_RCACHE_PRED_FIREHOSE_M=1M
                  UCX_RCACHE_PRED_FIREHOSE_MAXVICTIM=512K"

    run "Firehose, 2 processes of 2 threads" no_errors $rig -- "$firehose"
    run "Firehose, pages, room for few" no_errors $rig -- "$firehose" \
        --procs 3 --threads 3 --m 192k --maxvictim 64k --most 12k \
        --ops 200
    run "Firehose, threads share a worker" no_errors $rig -- "$firehose" \
        --procs 3 --shared --ops 200
    run "Firehose, nonsense is sent" $rig -- "$firehose" --damage --ops 200
    run "Firehose, large buckets" no_errors $rig -- "$firehose" --bucket 64k \
        --m 4m --maxvictim 1m --heap 16m --ops 200
    run "Firehose, each allocation fails" one_sided each_allocation 1 \
        FAULT_CHILD=1 "$apps/fhfault"
    # Once, and a fifth of them, is enough of what takes a minute
    [ -n "$suite" ] ||
        run "Firehose, allocations fail, emulated puts, any thread" \
            seldom each_allocation 1 FAULT_CHILD=1 "$apps/fhfault" --multi
    run "Firehose, memory is unmapped" firehose_app 1 "$apps/fhunmap"
    run "Firehose, memory is unmapped, emulated puts" firehose_app 0 \
        "$apps/fhunmap"
    run "Firehose, memory is unmapped, large buckets" firehose_app 0 \
        "$apps/fhunmap" --bucket 64k --share 4m --maxvictim 1m --rounds 50
    run "Firehose, M is more than the memory" no_errors $rig -- "$firehose" \
        --m 1024g --maxvictim 1024g --ops 200
    run "Firehose, M is more than any memory" \
        fails_well "M of 2199023255552 bytes; accepted: up to 1099511627776" \
        $rig -- "$firehose" --m 2048g
    run "Firehose, contexts and workers that it cannot use" refuses $rig -- \
        "$apps/fhrefused"
    run "Firehose, the first registration fails" \
        fails_well "firehose: pin remote: Input/output error" \
        $rig -- env NATIVE_FAIL_REG=1 "$firehose" --ops 200
    run "Firehose, a process is killed" loses_peer $rig -- \
        env UCX_TLS=tcp,cma,self "$firehose" --procs 3 --kill
    run "Firehose, under the library" \
        pinned_by_firehose 2 4194304 "$hits" $rig -- \
        $beside "$firehose" --bound 4m --ops 200
    run "Firehose, under the library, on demand" with POLICY=on-demand \
        pinned_by_firehose 2 4194304 "$hits" $rig -- \
        $beside "$firehose" --bound 4m --ops 200
    run "Firehose, room for all that it pins" firehose_counts \
        pinned_by_firehose 1 4194304 "$hits" $rig -- \
        $beside "$bound" --bound 4m --fits
    run "Firehose, room for less than M" firehose_counts \
        pinned_by_firehose 1 655360 "$hits" $rig -- \
        $beside "$bound" --fhs 1 --bound 640k --fits --threads 3 --most 16k
    run "Firehose, two that share too little room" \
        pinned_by_firehose 1 1310720 \
        'value("firehose_bytes_peak") > 1000000' $rig -- \
        $beside "$bound" --bound 1280k --threads 3
    run "Firehose, room for less than M, several processes" \
        pinned_by_firehose 2 1310720 "$hits" $rig -- \
        $beside "$firehose" --bound 1280k --ops 200
    run "Firehose, few regions" with MAX_REGIONS=8 \
        pinned_by_firehose 1 1310720 'value("regions_peak") <= 8' $rig -- \
        $beside "$bound" --bound 1280k --threads 3
    run "Firehose, two of which one may get nothing" \
        pinned_by_firehose 1 262144 'value("firehose_bytes_peak") == 131072' \
        $rig -- $beside "$bound" --bound 128k --most 16k --threads 3
}

# fails_well MESSAGE COMMAND...: the program ends with an error of its own and says which, no
# process of it by a signal other than that by which the first that fails ends the others
fails_well()
{
    local message=$1 status=0
    shift
    "$@" > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ $status -eq 1 ] && grep -q "$message" "$work/said" &&
        ! grep 'a process ends with status' "$work/said" |
            grep -vE 'status 0x([0-9a-f]+00|f)$'
}

# refuses COMMAND...: what Firehose is given is refused, and the log says so in each case
refuses()
{
    local message
    "$@" > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    for message in "no context" "for one thread" "takes no active messages" \
        "no worker of UCP" "not an address of process 1" \
        "0x[0-9a-f]* to 0x[0-9a-f]* cannot be exposed" \
        "UCP_FEATURE_RMA were not set"; do
        grep -q "ERROR .*$message" "$work/said" ||
            { echo "not said: $message"; return 1; }
    done
}

# loses_peer COMMAND...: a program one process of which is killed. UCX may end another one,
# which cannot be helped: see docs/firehose.md. Then it is tried again
loses_peer()
{
    local i
    for ((i = 0; i < 5; ++i)); do
        "$@" > "$work/said" 2>&1 && break
        cat "$work/said"
        grep -q 'ucp_request.inl:[0-9]* *Fatal: unexpected error' \
            "$work/said" || return 1
    done
    cat "$work/said"
    [ $i -lt 5 ]
}

# Programs that measure Firehose, as short as they can be: they check what they do. With
# puts and gets that need nobody at the target, and emulated ones
firehose_app_tests()
{
    local -x UCX_VFS_ENABLE=n # As above
    local apps="$build/test/apps" one_sided scheme
    # Without Firehose, which measures UCX alone, in one suite
    local schemes=(firehose)
    [ -n "$suite" ] || schemes+=(pinned rendezvous "rendezvous --keep")
    # Few enough operations that most places are written once
    local few="--ops 100 --share 1m --maxvictim 256k --set 8m"

    for one_sided in 1 0; do
        for scheme in "${schemes[@]}"; do
            run "Firehose measured, puts, $scheme, one-sided $one_sided" \
                firehose_app $one_sided "$apps/fhputs" --scheme $scheme $few
            run "Firehose measured, gets, $scheme, one-sided $one_sided" \
                firehose_app $one_sided "$apps/fhputs" --scheme $scheme $few \
                --gets --align 4k
        done
        run "Firehose measured, puts of whole pages, one-sided $one_sided" \
            firehose_app $one_sided "$apps/fhputs" $few --align 4k
        run "Firehose measured, puts, large buckets, one-sided $one_sided" \
            firehose_app $one_sided "$apps/fhputs" $few --bucket 64k
        run "Firehose measured, matrices, one-sided $one_sided" \
            firehose_app $one_sided "$apps/fhcannon" --iters 2 --share 32k
        run "Firehose measured, matrices, gets, one-sided $one_sided" \
            firehose_app $one_sided "$apps/fhcannon" --iters 2 --gets
        run "Firehose measured, sort, one-sided $one_sided" \
            firehose_app $one_sided "$apps/fhsort" --iters 2 --share 64k
    done
    run "Firehose measured, additions" firehose_app 1 "$apps/fhgups" \
        --updates 1000
    run "Firehose measured, additions, libraries apart" firehose_app 1 \
        "$apps/fhgups" --updates 1000 --apart --procs 3
    run "Firehose measured, fairness" firehose_app 1 "$apps/fhfair" --ms 200
    run "Firehose measured, a put beside a pin" firehose_app 1 "$apps/fhfair" \
        --threads 1 --size 24k --share 32k --hold 16k --ms 200
    run "Firehose measured, fairness, pins" firehose_app 1 "$apps/fhfair" \
        --ms 200 --pins
    run "Firehose measured, hits" firehose_app 1 "$apps/fhhits" --rounds 3
    run "Firehose measured, requests" firehose_app 1 "$apps/fhmoves" \
        --procs 3 --ms 200
}

# through_firehose BYTES COMMAND...: a job whose windows go through Firehose, which pins
# no more than so many bytes in any of its ranks
through_firehose()
{
    local bytes=$1
    shift
    (export NATIVE_ONE_SIDED=1 UCX_RCACHE_PRED_WINDOWS=firehose; "$@") &&
        awk -v bytes="$bytes" "$value"'
            (value("firehose_hits") < 1) ||
            (value("firehose_requests") <= value("firehose_hits")) {
                print "windows do not go through Firehose"
                bad = 1
            }
            value("firehose_bytes_peak") > bytes {
                print "the bound is exceeded"
                bad = 1
            }
            END { exit bad }' "$work/summary"
}

# registered_as_a_whole COMMAND...: most puts and gets have 8 parts or 9, and a buffer of
# their own, of which each part but one finds all registered
registered_as_a_whole()
{
    "$@" &&
        awk "$value"'
            value("hits") < 0.75 * value("uses") {
                print "parts of buffers are registered one by one"
                bad = 1
            }
            END { exit bad }' "$work/summary"
}

# pinned_windows COMMAND...: a job whose windows do not go through Firehose
pinned_windows()
{
    (export NATIVE_ONE_SIDED=1; "$@") &&
        awk "$value"'value("firehose_requests") > 0 { bad = 1 }
                     END { exit bad }' "$work/summary"
}

# told_pinned WHY COMMAND...: a job whose windows do not go through Firehose, and each
# of whose 2 ranks says why, such as one that does not tell how many there are
told_pinned()
{
    local why=$1
    shift
    with WINDOWS=firehose pinned_windows "$@" > "$work/said" 2>&1 ||
        { cat "$work/said"; return 1; }
    cat "$work/said"
    [ "$(grep -c "memory is pinned as a whole, since $why" "$work/said")" = 2 ]
}

# told_room BYTES COMMAND...: a job each of whose 2 ranks says that M and MAXVICTIM have
# this room, whatever domains contexts have that are not for windows
told_room()
{
    local bytes=$1
    shift
    (export NATIVE_ONE_SIDED=1 UCX_RCACHE_PRED_WINDOWS=firehose; "$@") \
        > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    [ "$(grep -c "accepted: together up to $bytes\$" "$work/said")" = 2 ]
}

# kept_caches COMMAND...: the same where the user keeps UCX's own caches
kept_caches()
{
    local setting=UCX_CMA_REG_METHODS=rcache
    case $suite in trixie|unstable) setting=UCX_RCACHE_ENABLE=y ;; esac
    (export "${setting?}" NATIVE_ONE_SIDED=1 UCX_RCACHE_PRED_WINDOWS=firehose
        $rig -- mpirun -np 2 env LD_PRELOAD="$preload" "$@") \
        > "$work/said" 2>&1 || { cat "$work/said"; return 1; }
    cat "$work/said"
    [ "$(grep -c 'memory is pinned as a whole, since no' "$work/said")" = 2 ]
}

# shmem_job COMMAND...: an OpenSHMEM program of two ranks without shared memory, of which
# what is above holds
shmem_job()
{
    managed 2 env UCX_TLS=cma,tcp,self $rig -- oshrun --mca spml ucx -np 2 \
        env LD_PRELOAD="$preload" "$@"
}

window_tests()
{
    local windows=("$apps/windows")
    # M and MAXVICTIM as they are if nothing is said
    local all=$((320 << 20))
    local bytes mode

    # Open MPI 4.1 takes an MPI_Rput() for complete when an atomic that follows it is,
    # and one that UCX emulates overtakes the put, see README.md
    case $suite in trixie|unstable) ;; *) windows+=(--keep-rput) ;; esac
    # Stock UCX 1.18 does not end it
    [ -z "$suite" ] && for bytes in 256M 512K; do
        run "windows, all calls, M of $bytes" with FIREHOSE_M=$bytes \
            through_firehose $all managed 1 $rig -- env OMPI_COMM_WORLD_SIZE=1 \
            OMPI_COMM_WORLD_RANK=0 UCX_TLS=cma,tcp LD_PRELOAD="$preload" \
            "$apps/windowcalls"
    done
    # The window has a bucket more than there are firehoses
    [ -z "$suite" ] && run "windows, a miss in a callback" with FIREHOSE_M=32M \
        through_firehose $all managed 1 $rig -- env OMPI_COMM_WORLD_SIZE=1 \
        OMPI_COMM_WORLD_RANK=0 NATIVE_ONE_SIDED=0 UCX_TLS=cma,tcp \
        LD_PRELOAD="$preload" "$apps/windowcalls" --rounds 1 --wide 33024k
    # Buckets of a page, 16 firehoses
    run "windows, what is held" with FIREHOSE_M=64K with FIREHOSE_MAXVICTIM=32K \
        through_firehose 98304 managed 1 $rig -- env OMPI_COMM_WORLD_SIZE=1 \
        OMPI_COMM_WORLD_RANK=0 UCX_TLS=cma,tcp LD_PRELOAD="$preload" \
        "$apps/windowholds"
    for mode in 0 1; do
        run "windows, endpoints that are closed, one-sided $mode" \
            with FIREHOSE_M=128K with FIREHOSE_MAXVICTIM=32K \
            through_firehose 163840 managed 1 $rig -- env NATIVE_ONE_SIDED=$mode \
            UCX_TLS=cma,tcp LD_PRELOAD="$preload" "$apps/windowclose" --force
    done
    run "windows, the end of a worker whose target does nothing" \
        with WINDOWS=firehose with FIREHOSE_M=128K with FIREHOSE_MAXVICTIM=32K \
        $rig -- env NATIVE_ONE_SIDED=0 UCX_TLS=cma,tcp LD_PRELOAD="$preload" \
        "$apps/windowclose" --abandon
    for mode in 0 1 2; do
        run "windows, threads that wait for each other, mode $mode" \
            with FIREHOSE_M=512K through_firehose 67633152 managed 1 $rig -- \
            env OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 \
            UCX_TLS=cma,tcp LD_PRELOAD="$preload" "$apps/windowthreads" \
            --mode $mode
    done
    for mode in 0 1; do
        run "windows, processes that wait for each other, one-sided $mode" \
            with WINDOWS=firehose with FIREHOSE_M=64K with FIREHOSE_MAXVICTIM=32K \
            $rig -- env NATIVE_ONE_SIDED=$mode UCX_TLS=cma,tcp \
            LD_PRELOAD="$preload" "$apps/windowpair"
        run "windows, two unmaps of what is not flushed, one-sided $mode" \
            with WINDOWS=firehose with FIREHOSE_M=64K with FIREHOSE_MAXVICTIM=32K \
            $rig -- env NATIVE_ONE_SIDED=$mode UCX_TLS=cma,tcp \
            LD_PRELOAD="$preload" "$apps/windowpair" --unmap
    done
    # Stock UCX 1.18 does not end such a program
    [ -z "$suite" ] && for mode in 0 1; do
        run "windows, each allocation fails, one-sided $mode" \
            with WINDOWS=firehose with FIREHOSE_M=1M with FIREHOSE_MAXVICTIM=512K \
            each_allocation "" OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 \
            NATIVE_ONE_SIDED=$mode UCX_TLS=cma,tcp \
            LD_PRELOAD="$build/test/native/libfault.so:$preload" "$apps/windowfault"
    done
    run "windows, allocations of a job fail" one_sided with WINDOWS=firehose \
        with FIREHOSE_M=1M with FIREHOSE_MAXVICTIM=512K \
        failing_jobs "${windows[@]}" --rounds 1
    run "windows, pinned" pinned_windows job 2 "${windows[@]}" --rounds 1
    run "windows" through_firehose $all \
        job 2 "${windows[@]}" --rounds 2 --max-pinned 12m
    run "windows, 3 ranks" through_firehose $all \
        job 3 "${windows[@]}" --rounds 1 --seed 2 --max-pinned 16m
    run "windows, room for few" \
        with FIREHOSE_M=1M with FIREHOSE_MAXVICTIM=512K \
        through_firehose 1572864 job 3 "${windows[@]}" --rounds 1 --seed 3
    # Open MPI's own memory for each window takes from it, and the pages of others
    run "windows, a bound that leaves less than was thought" with MAX_PINNED=256K \
        through_firehose 262144 job 3 "${windows[@]}" --rounds 1 --ops 80 --seed 3
    run "windows, all that a bound leaves" told_room 3932160 with MAX_PINNED=4M \
        job 2 "${windows[@]}" --rounds 1
    run "windows, all that a bound of the node leaves each rank" \
        told_room 1966080 with NODE_MAX_PINNED=4M \
        job 2 "${windows[@]}" --rounds 1
    run "windows beside a bound" with MAX_PINNED=4M \
        through_firehose 4194304 job 2 "${windows[@]}" --rounds 1 --seed 4
    run "windows of a job that is not known" told_pinned "the env" \
        job 2 env -u OMPI_COMM_WORLD_SIZE -u PMI_SIZE -u SLURM_NTASKS \
        "${windows[@]}" --rounds 1
    run "windows, room for nobody" with FIREHOSE_M=4K \
        told_pinned "Firehose could not be started" job 2 "${windows[@]}" --rounds 1
    run "windows beside caches of UCX" kept_caches "${windows[@]}" --rounds 1
    # What is freed is not zero: Open MPI 4 unpacks some of it as a key
    run "parts of MPI, windows" through_firehose $all \
        job 2 env MALLOC_PERTURB_=85 "$apps/mpi_features" --only windows,dynamic,atomics --bytes 3m \
        --rounds 8
    [ ! -x "$apps/symmetric" ] ||
        run "OpenSHMEM, parts of new buffers" registered_as_a_whole \
            through_firehose $all shmem_job "$apps/symmetric" --size 2097152 --iters 3
}

# No puts and gets: UCX emulates them here, and then its flush of a worker, of which
# Open MPI makes fences, ends too early under stock UCX as well (test/apps/workerflush.c)
messages="--threads 1"

run "several contexts" managed 1 $rig -- env LD_PRELOAD="$preload" "$apps/contexts"
# Slices of an array, which the library registers together where that is a gain, and
# in any of its modes: the program checks every byte
for kind in segments faces panels parts; do
    run "slices, $kind" job 3 "$apps/slices" --kind $kind --iters 20 \
        --compute 5
done
run "slices, whatever it costs" with BUDGET=inf with HELPER=aggressive \
    job 2 "$apps/slices" --iters 40 --compute 5
run "slices, room for some of them" with MAX_PINNED=3M \
    job 2 "$apps/slices" --iters 20 --compute 5

# Threads of the program: while they keep all processors busy, the program does the
# helper's work itself. And uses that cannot be predicted, or only by something else than a
# period. What decides that is the same beside each UCX
time_tests()
{
    local threads uses
    threads=$(nproc)
    run "threads on all processors" helper_used 0 0.05 unbound \
        job 1 "$apps/hybrid" --threads "$threads" --iters 1000
    run "threads on half of the processors" \
        helper_used_if_idle $(((threads + 1) / 2)) unbound \
        job 1 "$apps/hybrid" --threads $(((threads + 1) / 2)) --iters 1000
    run "threads that come and go" unbound \
        job 1 "$apps/hybrid" --threads "$threads,1" --iters 1000
    run "threads of 2 ranks on the same processors" unbound \
        job 2 env OMP_WAIT_POLICY=passive "$apps/hybrid" --threads "$threads" --iters 200

    for uses in noreuse random alternating drift phases burst; do
        run "irregular, $uses" job 2 "$apps/irregular" --pattern $uses --iters 20 \
            --compute 5
    done
}

[ -n "$suite" ] || time_tests
run "integrity, 2 ranks of 4 threads" job 2 "$apps/integrity" --threads 4
# With puts and gets as well
run "integrity, one-sided" one_sided job 2 "$apps/integrity" --seed 13
run "integrity, one-sided, emulated" job 2 "$apps/integrity" --flush-each --seed 13
run "a flush of an endpoint waits for an emulated get" \
    $rig -- env UCX_TLS=posix,self LD_PRELOAD="$preload" $mpi_options "$apps/workerflush"
run "integrity, progress does the helper's work" \
    with HELPER=progress job 2 "$apps/integrity" $messages --seed 2
run "integrity, recorded" \
    with TRACE="$work/traces" job 2 "$apps/integrity" $messages --seed 3
run "recorded, no folder" says_twice 'TRACE=/proc/nowhere: cannot create' \
    with TRACE=/proc/nowhere job 2 "${fig1[@]:3}"
run "Figure 1, room for two of its three buffers" \
    with MAX_PINNED=11M job 2 "$apps/fig1" --compute 5 --verify
for scheme in get put; do
    run "integrity, bound, $scheme" bound 1048576 job 2 \
        env UCX_RNDV_SCHEME=${scheme}_zcopy "$apps/integrity" $messages --seed 6
done
run "large receives are registered in pieces" in_pieces \
    job 2 "$apps/fig1" --compute 5 --no-reuse --verify
run "fork" job 2 "$apps/forktest"
run "memory unmapped in handlers of signals" \
    job 2 "$apps/sigstorm"
storm_tests
case $sanitizer in *asan*) arena_asan_tests ;; esac
[ -z "$sanitizer" ] || firehose_sanitized_tests
if [ -z "$sanitizer" ]; then
    # It may come while the program has the lock of the cache, or does a round of the helper's
    # work, or is registering memory
    run "handlers of signals that fork" \
        job 2 "$apps/forkstorm" --rounds 60 --forks 10
    run "arena, handlers of signals that fork" \
        answered 1 job 2 "$apps/forkstorm" --rounds 60 --forks 10
    # A child would wait for locks of the address sanitizer's allocator
    run "fork beside threads that map memory" map_and_fork
    small_tests
    arena_tests
    firehose_tests
    firehose_app_tests
    window_tests
    stock_tests
    run "integrity, 4 ranks" job 4 "$apps/integrity" $messages --seed 4
    run "integrity, on demand" \
        with POLICY=on-demand job 2 "$apps/integrity" $messages --seed 5
    run "transpose" job 2 "$apps/transpose"
    # The same beside each UCX
    if [ -z "$suite" ]; then
        for helper in aggressive progress off; do
            run "Figure 1, helper $helper" with HELPER=$helper \
                job 2 "$apps/fig1" --compute 5 --verify
        done
        for kernel in mg wavefront; do
            run "$kernel" job 2 "$apps/$kernel" --iters 3 --compute 5
        done
    fi
    run "parts of MPI, 2 ranks" \
        features job 2 "$apps/mpi_features" --skip spawn --bytes 1m
    for scheme in get put; do
        for rank in 0 1; do
            run "integrity, bound of rank $rank alone, $scheme" \
                bound 1048576 lone $rank env UCX_RNDV_SCHEME=${scheme}_zcopy \
                "$apps/integrity" $messages --seed 7
        done
    done
    run "parts of MPI, 5 ranks, bound" with MAX_PINNED=2M \
        features job 5 "$apps/mpi_features" --skip spawn
    case $suite in
    trixie|unstable)
        run "integrity, MPICH" managed 2 $rig -- mpirun.mpich -np 2 \
            env LD_PRELOAD="$preload" \
            "$build/$suite-mpich/test/apps/integrity" $messages
        run "arena, MPICH" answered 1 managed 2 $rig -- mpirun.mpich -np 2 \
            env LD_PRELOAD="$preload" \
            "$build/$suite-mpich/test/apps/integrity" --seen-moves $messages
        run "parts of MPI, MPICH, 3 ranks" managed 3 $rig -- mpirun.mpich \
            -np 3 env LD_PRELOAD="$preload" \
            "$build/$suite-mpich/test/apps/mpi_features" --skip spawn
        run "windows, MPICH" through_firehose $((320 << 20)) managed 2 $rig -- \
            mpirun.mpich -np 2 env LD_PRELOAD="$preload" MPIR_CVAR_NOLOCAL=1 \
            "$build/$suite-mpich/test/apps/windows" --max-pinned 12m
        # Its context is for puts and gets as well
        run "small messages, MPICH" small_job 'value("eager_hot") > 900' \
            mpirun.mpich -np 2 env LD_PRELOAD="$preload" \
            "$build/$suite-mpich/test/apps/reuse" --size 8000
        run "parts of MPI, MPICH, small messages" with EAGER=y managed 3 $rig -- \
            mpirun.mpich -np 3 env LD_PRELOAD="$preload" \
            "$build/$suite-mpich/test/apps/mpi_features" --skip spawn
        # Open MPI 5 gives them what the launcher itself has, see docs/recipes.md
        run "parts of MPI, processes that are started later" managed 4 \
            env UCX_TLS=cma,tcp,posix,self $rig -- \
            env LD_PRELOAD="$preload" mpirun -np 2 "$apps/mpi_features" --only spawn
        run "parts of MPI, one-sided" job 2 "$apps/mpi_features" \
            --only windows,dynamic,atomics
        run "protocols beside a bound" same_protocols
        run "sessions, MPICH" managed 2 $rig -- mpirun.mpich -np 2 \
            env LD_PRELOAD="$preload" "$build/$suite-mpich/test/apps/sessions"
        # UCX 1.13 hangs so by itself
        run "memory hooks by relocation" managed 1 $rig -- \
            env UCX_MEM_MMAP_HOOK_MODE=reloc LD_PRELOAD="$preload" \
            "$apps/contexts" ;;
    *)
        run "parts of MPI, processes that are started later" managed 4 \
            $rig -- "$predreg" run -- \
            mpirun -np 2 "$apps/mpi_features" --only spawn
        run "an arena for uses that no peer has access to" refused_arena \
            job 2 "${fig1[@]:3}"
        ;;
    esac
    # UCX 1.18 aborts a send of read-only memory over a transport such as this one by
    # itself: it puts, where the peer could not get, and that needs a handle
    run "memory of every kind" no_errors job 2 "$apps/memkinds"
    # UCX 1.18 and later would ask again without end
    run "no key is left" evicts with BUDGET=0 keys 8,again job 2 \
        "$apps/manybuf" --buffers 12 --iters 2 --compute 1 --size 1m
    # A third of what both ranks ask for; without registrations of several buffers together
    # two of three uses would find nothing
    run "keys run out" learns 400 job 2 "$apps/chunks" --buffers 600 --iters 6 --compute 1
    run "keys run out, refused with EAGAIN" learns 400,again job 2 "$apps/chunks" \
        --buffers 600 --iters 6 --compute 1
    run "keys that others do not use" lent with BUDGET=0 job 4 "$apps/idlekeys"
    # The kernel tells of it, whatever the suite
    if [ -z "$suite" ]; then
        run "memory is short" squeezed 260 job 2 "$apps/pressure" --size 80m --iters 4
        run "memory is not short" roomy job 2 "$apps/pressure" --size 20m --iters 2
    fi
    run "registrations are refused" each_refusal \
        "$apps/manybuf" --buffers 12 --iters 4 --compute 1 --size 1m
    # The program has 5 of the 8 MiB of locked memory itself: that leaves two buffers
    run "locked memory runs out" limited 'ulimit -l' with BUDGET=0 managed 1 \
        env RIG_MEMLOCK=8192 $rig -- env NATIVE_PINNED=$((5 << 20)) \
            LD_PRELOAD="$preload" "$apps/contexts" 2
    run "mappings run out" limited 'vm.max_map_count' with BUDGET=0 job 2 \
        env NATIVE_FORK_PROTECTION=1 NATIVE_MAPPINGS=60 \
        "$apps/manybuf" --buffers 100 --iters 4 --compute 1 --size 1m
    # UCX 1.18 ends a program that is refused a key. All of the 20 keys that stay free
    run "keys are left for others" beside_stock 400 10 \
        "$apps/chunks" --buffers 600 --iters 20 --compute 5
    run "UCX in a plug-in" plugged_in
    run "UCX in a plug-in that is loaded again" plugged_in -c -n
    for setting in UCX_MEM_EVENTS=n UCX_MEM_MMAP_HOOK_MODE=none; do
        run "beside $setting" steps_aside \
            $rig -- env "$setting" LD_PRELOAD="$preload" "$apps/contexts" 2
    done
    run "beside Open MPI's memory hooks" job 2 env UCX_MEM_MMAP_HOOK_MODE=none \
        "$apps/integrity" $messages --ops 50
    # There is no arena then
    run "beside Open MPI's memory hooks, with an arena" without_hooks \
        with ARENA=64M job 2 "$apps/integrity" $messages --ops 50
    # Blocks are 8 ms apart then: buffers that are used again before the helper has run
    # need nobody else's example
    run "buffers like others before" \
        follows job 2 "$apps/wavefront" --iters 4 --compute 400
    run "beside a PMPI tool" profiled
    run "beside AddressSanitizer in the program" with_asan
    # The programs of a suite are elsewhere
    [ -n "$suite" ] || run "the advice of reports" advised fig1 halo exchange
    # The call alone, and with all that follow
    for kind in memory thread system; do
        run "each call fails, $kind" every $kind FAULT=$kind:@ FAULT=$kind:@+
    done
    run "each registration fails" every registrations NATIVE_FAIL_REG=@
    run "each deregistration fails" every deregistrations NATIVE_FAIL_DEREG=@
fi
echo DONE
