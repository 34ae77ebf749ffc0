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
limit=120 # seconds a program may take
rig="timeout -k 5 $limit $top/test/native/run.sh $build"
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

# shellcheck source=test/suite.sh
. "$top/test/suite.sh"

# job RANKS COMMAND...: an MPI program, of which the above holds
job()
{
    local ranks=$1
    shift
    managed "$ranks" $rig mpirun -np "$ranks" \
        env LD_PRELOAD="$preload" $mpi_options "$@"
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
        $rig env LD_PRELOAD="$build/test/native/libfault.so:$preload" \
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
    loop FAULT_COUNT=1 NATIVE_COUNT=1 | awk -v kind="$1" '
        /^fault: / && ($3 == kind) { print $2 }
        /^native rig: / && (kind == "registrations") { print $3 }
        /^native rig: / && (kind == "deregistrations") { print $5 }'
}

# Each call of a kind fails in a run of its own; and that for each of these
# settings, in which @ stands for the number of the call
#   every KIND VARIABLE=VALUE...
every()
{
    local kind=$1 count i setting failed=0
    shift
    count=$(calls "$kind")
    echo "$count $kind"
    [ "${count:-0}" -gt 0 ] || return
    for ((i = 1; i <= count; ++i)); do
        for setting in "$@"; do
            with_failure "${setting/@/$i}" || failed=1
        done
    done
    return $failed
}

# No puts and gets: UCX emulates them here, and Open MPI then reads wrong bytes
# under stock UCX as well
messages="--threads 1"

run "several contexts" managed 1 $rig env LD_PRELOAD="$preload" "$apps/contexts"
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
    # The call alone, and with all that follow
    for kind in memory thread system; do
        run "each call fails, $kind" every $kind FAULT=$kind:@ FAULT=$kind:@+
    done
    run "each registration fails" every registrations NATIVE_FAIL_REG=@
    run "each deregistration fails" every deregistrations NATIVE_FAIL_DEREG=@
fi
echo DONE
