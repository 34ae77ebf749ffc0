#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Real programs in the native rig, under the preload. One line for each test,
# then DONE. A build with a sanitizer runs the programs under it.
#
# usage: suite.sh BUILD-FOLDER [PATTERN]    only tests whose name has PATTERN

set -u
build=$(cd "$1" && pwd)
pattern=${2:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
apps=$build/test/apps
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
rig="timeout -k 5 120 $top/test/native/run.sh $build"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export UCX_RCACHE_PRED_SUMMARY=json

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
    preload=$build/test/native/libevents.so:$sanitizer:$library
    rig="setarch -R $rig"
    export UCX_MEM_EVENTS=n OMPI_MCA_memory=^patcher
    export TSAN_OPTIONS="exitcode=66 suppressions=$top/test/native/tsan.txt" ;;
*asan*)
    # Libraries of Open MPI that were unloaded, and so have no name any more, leave
    # memory behind: leaks are looked for in programs without it
    mpi_options=ASAN_OPTIONS=detect_leaks=0 ;;
esac

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
    124) echo "FAIL $name: not done in time" ;;
    *)   echo "FAIL $name (status $status)" ;;
    esac
    [ $status -eq 0 ] || tail -n 120 "$log" | sed 's/^/    /'
}

# Run an MPI program; each rank sums up, has managed something, and leaves
# nothing registered
#   job RANKS COMMAND...
job()
{
    local ranks=$1 summary=$work/summary
    shift
    rm -f "$summary"
    UCX_RCACHE_PRED_SUMMARY_FILE=$summary $rig mpirun -np "$ranks" \
        env LD_PRELOAD="$preload" $mpi_options "$@" || return
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

# with NAME=VALUE COMMAND...: with a knob set; the command may be a function
with()
{
    local knob=$1
    shift
    (export "UCX_RCACHE_PRED_$knob"; "$@")
}

# no_errors COMMAND...: the command passes and logs no error
no_errors()
{
    local status=0
    "$@" > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    ! grep -q ' ERROR ' "$work/said" && return $status
}

# The program that is run with failures: one process, all of the library
loop="$apps/contexts 2"

# with_failure VARIABLE=VALUE: the program ends right. If it does not, the
# failure and what the program said are printed
with_failure()
{
    rm -rf "$work/traces"
    env "$1" UCX_RCACHE_PRED_TRACE="$work/traces" \
        UCX_RCACHE_PRED_SUMMARY_FILE="$work/summary" \
        $rig env LD_PRELOAD="$build/test/native/libfault.so:$preload" \
        $loop > "$work/one" 2>&1 && return
    echo "$1: status $?"
    head -n 30 "$work/one"
    return 1
}

# How many calls of that kind the program makes
calls()
{
    env FAULT_COUNT=1 NATIVE_COUNT=1 UCX_RCACHE_PRED_TRACE="$work/traces" \
        UCX_RCACHE_PRED_SUMMARY_FILE="$work/summary" \
        $rig env LD_PRELOAD="$build/test/native/libfault.so:$preload" \
        $loop 2>&1 | awk -v kind="$1" '
            /^fault: / && ($3 == kind) { print $2 }
            /^native rig: / && (kind == "registrations") { print $3 }
            /^native rig: / && (kind == "deregistrations") { print $5 }'
}

# Each call of that kind fails in a run of its own, and in another one all that
# follow as well
#   every_call KIND
every_call()
{
    local count i failed=0
    count=$(calls "$1")
    echo "$count calls"
    [ "${count:-0}" -gt 0 ] || return
    for ((i = 1; i <= count; ++i)); do
        with_failure "FAULT=$1:$i" || failed=1
        with_failure "FAULT=$1:$i+" || failed=1
    done
    return $failed
}

# every_registration KIND VARIABLE
every_registration()
{
    local count i failed=0
    count=$(calls "$1")
    echo "$count $1"
    [ "${count:-0}" -gt 0 ] || return
    for ((i = 1; i <= count; ++i)); do
        with_failure "$2=$i" || failed=1
    done
    return $failed
}

# No puts and gets: UCX emulates them here, and Open MPI then reads wrong bytes
# under stock UCX as well
messages="--threads 1"

run "several contexts" $rig env LD_PRELOAD="$preload" "$apps/contexts"
run "integrity, 2 ranks of 4 threads" job 2 "$apps/integrity" --threads 4
run "integrity, progress does the helper's work" \
    with HELPER=progress job 2 "$apps/integrity" $messages --seed 2
run "integrity, recorded" \
    with TRACE="$work/traces" job 2 "$apps/integrity" $messages --seed 3
run "Figure 1, room for two of its three buffers" \
    with MAX_PINNED=11M job 2 "$apps/fig1" --compute 5 --verify
run "fork" job 2 "$apps/forktest"
if [ -z "$sanitizer" ]; then
    run "integrity, 4 ranks" job 4 "$apps/integrity" $messages --seed 4
    run "integrity, on demand" \
        with POLICY=on-demand job 2 "$apps/integrity" $messages --seed 5
    run "transpose" job 2 "$apps/transpose"
    run "memory of every kind" no_errors job 2 "$apps/memkinds"
    run "each allocation fails" every_call memory
    run "each thread fails" every_call thread
    run "each system call fails" every_call system
    run "each registration fails" every_registration registrations \
        NATIVE_FAIL_REG
    run "each deregistration fails" every_registration deregistrations \
        NATIVE_FAIL_DEREG
fi
echo DONE
