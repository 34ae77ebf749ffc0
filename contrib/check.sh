#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# All tests: unit tests, plain, beside a UCX of another version, and under
# sanitizers; which file uses which, and what of UCX; fuzzing; the installation;
# the tarball and the Debian package; messages on bad input; pages of reports in a
# browser; real MPI programs in the native rig, under sanitizers too; and, with an
# RDMA device or in a guest that has one, over verbs. See usage() below.

set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"

# libtool is a script, which takes a fourth of the time of a build: in dash less than in
# bash, which configure would choose
if [ -x /bin/dash ]; then
    export CONFIG_SHELL=/bin/dash
fi

usage()
{
    cat <<USAGE
usage: check.sh [PART]...

Runs all tests, or these parts of them:
  ${parts[*]}
Another part is coverage: the lines of src that the unit tests run, by folder.

Installs what is missing. Ends with a line of counts; the exit status is 0 if
nothing failed.
USAGE
}

# check_parts PART...: before anything is installed or built for them
check_parts()
{
    local part
    for part in "$@"; do
        case $part in
        --help|-h) usage; exit 0 ;;
        esac
        [[ " ${parts[*]} coverage " = *" $part "* ]] ||
            die "unknown part '$part'; accepted: ${parts[*]} coverage"
    done
}

parts=(structure unit versions sanitize fuzz install package input replay golden
       report stat info native rig)
check_parts "$@"
[ $# -eq 0 ] || parts=("$@")
passed=0
failed=0
skipped=0
flaky=0 # Those of the passed ones that took a second attempt
logs=$build/check
beside=() # Names of those that run beside others, by process

# Seconds after which a test is ended: several times what the longest takes
limit=600

# limited COMMAND...: ends it, and all that it has started, at that limit
limited()
{
    local pid watch status=0

    # Each of the two becomes a group of processes of its own
    set -m
    "$@" < /dev/null &
    pid=$!
    (sleep $limit && echo "not done in $limit s" && kill -KILL -- -$pid) &
    watch=$!
    set +m

    trap 'kill -KILL -- -$pid -$watch; exit 130' INT TERM
    wait $pid || status=$?
    trap - INT TERM
    kill -- -$watch 2> /dev/null || true
    wait $watch || true
    return $status
}

# log_of NAME: of a test
log_of()
{
    echo "$logs/$(echo "$1" | tr -c 'A-Za-z0-9\n' '-').log"
}

# check NAME COMMAND...: one test; 77 means skipped. Bash does not end a function at
# the first command that fails where its status is asked for, as it is here
check()
{
    local name=$1 status=0 begin=$SECONDS
    shift
    limited "$@" > "$(log_of "$name")" 2>&1 || status=$?
    tell "$name" $status $((SECONDS - begin))
}

# tell NAME STATUS SECONDS: what came of a test
tell()
{
    local name=$1 status=$2 log
    log=$(log_of "$name")
    case $status in
    0)  passed=$((passed + 1))
        say "PASS $name ($3 s)"
        if grep '^FLAKY' "$log"; then
            flaky=$((flaky + 1))
        fi ;;
    77) skipped=$((skipped + 1))
        say "SKIP $name: $(tail -n 1 "$log")" ;;
    *)  failed=$((failed + 1))
        say "FAIL $name (status $status); the end of $log:"
        tail -n 40 "$log" | sed 's/^/    /' ;;
    esac
}

# check_beside NAME COMMAND...: the same beside those that come next, until wait_for_all.
# For tests that keep one processor busy for most of their time, and whose time is no matter,
# nor that of those beside them
check_beside()
{
    local name=$1 log begin=$SECONDS
    log=$(log_of "$name")
    shift
    rm -f "$log.end"
    (status=0
     limited "$@" > "$log" 2>&1 || status=$?
     echo "$status $((SECONDS - begin))" > "$log.end") &
    beside[$!]=$name
}

wait_for_all()
{
    local pid status seconds
    for pid in "${!beside[@]}"; do
        wait "$pid" || true
        read -r status seconds < "$(log_of "${beside[pid]}").end"
        tell "${beside[pid]}" "$status" "$seconds"
    done
    beside=()
}

# make_gtest DIR OBJECT [VARIABLE=VALUE]...: the program of the unit tests, linked with an
# object of the headers if there is one. The tests in C++ are compiled with these variables
make_gtest()
{
    local headers="-include common/headers.h" dir=$1/test/gtest
    local object=TEST_PRECOMPILED=$2
    shift 2
    make -C "$dir" precompiled "$object" "$@" &&
        make -C "$dir" -j"$(nproc)" objects TEST_HEADERS="$headers" "$@" &&
        make -C "$dir" gtest TEST_HEADERS="$headers" "$object"
}

# make_gtest_fast DIR: the same in half of the time, where there is clang. The
# library, and the tests in C, are compiled by the compiler that was configured,
# which links the program too, since a sanitizer has one runtime in a process
make_gtest_fast()
{
    if clang++ --version > /dev/null; then
        make_gtest "$1" "common/headers.o -Wl,--gc-sections" CXX=clang++ \
            PRECOMPILE_FLAGS="-Xclang -fpch-instantiate-templates -fpch-codegen"
    else
        make_gtest "$1" ""
    fi
}

# build_src DIR CONFIGURE-ARGUMENT...: src in a folder of its own
build_src()
{
    local dir=$1
    shift
    mkdir -p "$dir"
    [ -f "$dir/config.status" ] || env --chdir "$dir" "$top/configure" "$@" ||
        return
    make -C "$dir/src" -j"$(nproc)"
}

# build_sanitized KIND
build_sanitized()
{
    # With more than that, tests compile for minutes. Lines are all that is told of them
    build_src "$build-$1" --enable-sanitize="$1" CFLAGS="-g1 -O1" \
        CXXFLAGS="-g0 -O0" || return
    make_gtest_fast "$build-$1"
}

# run_gtest COMMAND...: the unit tests, in one part more than there are processors, since
# some of them wait; what failed comes last. Tests that have failed get a second attempt,
# one after the other, as test/suite.sh explains
run_gtest()
{
    local shards i log pids=() failures=() status=0
    shards=$(($(nproc) + 1))
    for ((i = 0; i < shards; ++i)); do
        GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$i "$@" \
            > "$logs/shard-$i.log" 2>&1 &
        pids+=($!)
    done
    for ((i = 0; i < shards; ++i)); do
        if wait "${pids[i]}"; then
            cat "$logs/shard-$i.log"
        else
            failures+=("$logs/shard-$i.log")
        fi
    done

    for log in "${failures[@]}"; do
        cat "$log"
        run_failed "$log" "$@" || status=1
    done
    return $status
}

# run_failed LOG COMMAND...: those tests once more that have failed by that log of
# them. What has ended the program fails at once
run_failed()
{
    local log=$1 names
    shift
    names=$(sed -n 's/^\[  FAILED  \] \([^ ,]*\.[^ ,]*\).*/\1/p' "$log" |
                sort -u | paste -sd:)
    grep -q '^\[=*\] .* ran\.' "$log" && [ -n "$names" ] || return
    GTEST_FILTER=$names "$@" || return
    echo "FLAKY $names"
}

# Tests of one thread that take longest under the thread sanitizer, which has nothing to
# find there, and are in files with others. What has no others is not compiled for it
tests_of_one_thread=test_arena_random_calls.one_thread
tests_of_one_thread+=:test_arena_random_calls.strict:test_join.at_random
tests_of_one_thread+=:test_join.many_slices
tests_of_one_thread+=:test_join.what_is_too_dear_apart_is_given_up_together
tests_of_one_thread+=":test_keys.many_ranks_share_what_there_is:test_progress.rounds_in_vain_*"
tests_of_one_thread+=:test_progress.what_is_due_is_done_by_an_idle_poll:test_write.a_million_events

# run_tsan COMMAND...: the thread sanitizer works neither with the memory hooks
# of UCX nor where addresses are randomised further than it expects. Fakes of the tests
# allocate in handlers of signals, which raise() calls where nothing is interrupted
run_tsan()
{
    setarch -R true 2>/dev/null || { echo "setarch is not permitted"; return 77; }
    UCX_MEM_EVENTS=n TSAN_OPTIONS="halt_on_error=1 report_signal_unsafe=0" \
        GTEST_FILTER="-$tests_of_one_thread" run_gtest setarch -R "$@"
}

run_unit()
{
    make_gtest_fast "$build" || return
    run_gtest "$build/test/gtest/gtest"
}

run_versions()
{
    make_gtest_fast "$build" || return
    "$top/test/versions.sh" "$build"
}

check_structure()
{
    check "test of the check of the structure" "$top/test/structure.sh"
    check "walk of an entry" "$top/test/walk.sh" "$build"
    check "structure of the sources" "$top/contrib/lib/structure.sh" \
        "$top/src" "$build/src" "$top/contrib/lib/folders.txt" \
        "$top/contrib/lib/circles.txt"
    check "test of the check of the list of locks" "$top/test/locks.sh"
    check "list of locks" "$top/contrib/lib/locks.sh" "$top/src" \
        "$top/docs/design/locks.md"
    check "test of the check of what is used of UCX" "$top/test/ucx-abi.sh"
    check "what is used of UCX" "$top/contrib/lib/ucx-abi.sh" \
        "$top/src" "$build/src" "$top/contrib/lib/ucx-abi.txt"
}

run_coverage()
{
    # Children of tests write down what they ran, see core_test.h
    build_src "$build-coverage" CFLAGS="-g -O0 --coverage" \
        CXXFLAGS="-g0 -O0" LDFLAGS="--coverage -Wl,-u,__gcov_dump" &&
        make_gtest "$build-coverage" "" || return
    # Otherwise the counts of an earlier run would be added
    find "$build-coverage" -name '*.gcda' -delete
    run_gtest "$build-coverage/test/gtest/gtest"
}

check_coverage()
{
    local before
    check "unit tests, counting lines" run_coverage
    before=$failed
    check "lines that unit tests run" "$top/contrib/lib/coverage.sh" \
        "$top/src" "$build-coverage"
    # check() has printed the table if it failed
    [ "$failed" -gt "$before" ] ||
        sed 's/^/    /' "$logs/lines-that-unit-tests-run.log"
}

check_sanitize()
{
    check "build with address and undefined-behaviour sanitizers" \
        build_sanitized address
    check "unit tests, address and undefined-behaviour sanitizers" \
        run_gtest "$build-address/test/gtest/gtest"
    check_native_sanitized address
    check "build with the thread sanitizer" build_sanitized thread
    check "unit tests, thread sanitizer" \
        run_tsan "$build-thread/test/gtest/gtest"
    check_native_sanitized thread
}

# The fuzzer writes what it finds to the folder of the logs. It would end with 77 for a leak
# or an abort, which here says that a test was skipped
run_fuzzer()
{
    local found=$logs/fuzz-corpus
    echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
        clang -x c -fsanitize=fuzzer,address,undefined -o /dev/null - || {
        echo "no clang with libFuzzer and its sanitizers"
        return 77
    }

    make -C "$build/test/fuzz" fuzz_trace || return
    mkdir -p "$found"
    "$build/test/fuzz/fuzz_trace" -max_total_time=10 -timeout=10 \
        -rss_limit_mb=1024 -error_exitcode=1 -artifact_prefix="$logs/" "$found" \
        "$top/test/fuzz/corpus"
}

check_fuzz()
{
    check "corpus of traces" make -C "$build/test/fuzz" check
    check_beside "fuzzing traces" run_fuzzer
}

check_install()
{
    local root=$build/install
    rm -rf "$root"
    check "make install" make -C "$build" install DESTDIR="$root"
    check "installed files" "$top/test/install.sh" "$root"
    check "manual pages of functions" "$top/test/manual.sh" "$root"
    check "exported symbols" "$top/test/exports.sh" \
        "$build/src/uct/ib/predreg/.libs" \
        "$build/src/ucp/.libs/libucp_firehose.so"
    check "programs with other UCXs than usual" "$top/test/preload.sh" "$build"
    check_beside "library without add-ons" "$top/test/without.sh" "$build"
    check_beside "configure --with-ucx" "$top/test/with-ucx.sh"
}

# The tarball is tried without the tests, which would be built once more: what is
# in it is compared with the checkout instead. Nor is it optimised, since nothing of it
# is run
check_package()
{
    check "make distcheck" make -C "$build" -j"$(nproc)" distcheck \
        DISTCHECK_CONFIGURE_FLAGS="--disable-tests CFLAGS=-O0"
    check "files of the tarball" "$top/test/dist.sh" "$build"
    check "Debian packages" "$top/contrib/package.sh"
    check "Debian packages, as a new user has them" "$top/test/package.sh" "$build"
}

# is_asked PART...: whether one of these parts is to be run
is_asked()
{
    local part
    for part in "$@"; do
        [[ " ${parts[*]} " != *" $part "* ]] || return 0
    done
    return 1
}

install_packages()
{
    local log=$logs/install.log
    mkdir -p "$logs"
    : > "$log"
    # These are installed whatever is asked for, since configure looks for most
    # of them, and is run only once
    install_missing "$log" "${packages_build[@]}" "${packages_native[@]}" \
        libgtest-dev ucx-utils man-db hpcc clang libdw-dev xz-utils
    if is_asked versions native rig; then
        (install_missing "$log" "${packages_suite[@]}") || true
    fi
    if is_asked rig; then
        install_guest "$log"
    fi
    if is_asked package; then
        install_missing "$log" "${packages_package[@]}" mmdebstrap
    fi
    if is_asked report; then
        # The browser is large and may be missing: the part then skips what
        # needs it
        (install_missing "$log" chromium) || true
    fi
}

run_part()
{
    case $1 in
    structure) check_structure ;;
    unit)      check "unit tests" run_unit ;;
    versions)  check "UCX of another version" run_versions ;;
    sanitize)  check_sanitize ;;
    coverage)  check_coverage ;;
    fuzz)      check_fuzz ;;
    install)   check_install ;;
    package)   check_package ;;
    input)     check "bad input" "$top/test/input.sh" "$build"
               check "knobs as documented" "$top/test/knobs.sh" "$build"
               check "errors explained" "$top/test/explain.sh" "$build"
               check "tables of results" "$top/test/results.sh" "$build" ;;
    replay)    check "replay" "$top/test/replay.sh" "$build" ;;
    golden)    check "golden set" "$top/test/golden.sh" "$build" ;;
    report)    check "pages of reports" "$top/test/report.sh" "$build" ;;
    stat)      check "live counters" "$top/test/stat.sh" "$build" ;;
    info)      check "what would happen" "$top/test/info.sh" "$build" ;;
    native)    check_native ;;
    rig)       check_rig ;;
    esac
}

main()
{
    local part

    install_packages
    if is_asked sanitize fuzz install package input replay report stat info native \
                rig; then
        build_project
    else
        build_project src
    fi

    trap '[ ${#beside[@]} -eq 0 ] || kill "${!beside[@]}"' EXIT
    for part in "${parts[@]}"; do
        case $part in
        install|package) ;;
        *) wait_for_all ;;
        esac
        run_part "$part"
    done
    wait_for_all

    say "$passed passed, of these $flaky by a second attempt;" \
        "$failed failed, $skipped skipped, in $SECONDS s"
    [ "$failed" -eq 0 ]
}

# check_suite NAME COMMAND...: a command that prints a line for each test, PASS,
# FAIL or SKIP, and DONE at the end
check_suite()
{
    local name=$1 log=$logs/$1.log status=0 counts
    shift
    set +e
    "$@" 2>&1 | tee "$log" |
        { grep --line-buffered -E '^(PASS|FAIL|SKIP|FLAKY|    )' || true; }
    status=${PIPESTATUS[0]}
    set -e

    counts=$(grep -c '^PASS' "$log" || true)
    passed=$((passed + counts))
    counts=$(grep -c '^FLAKY' "$log" || true)
    passed=$((passed + counts))
    flaky=$((flaky + counts))
    counts=$(grep -c '^FAIL' "$log" || true)
    failed=$((failed + counts))
    counts=$(grep -c '^SKIP' "$log" || true)
    skipped=$((skipped + counts))
    if [ "$status" -eq 77 ]; then
        skipped=$((skipped + 1))
        say "SKIP $name: $(tail -n 1 "$log")"
    elif ! grep -q '^DONE' "$log"; then
        failed=$((failed + 1))
        say "FAIL $name (status $status); the end of $log:"
        tail -n 40 "$log" | sed 's/^/    /'
    fi
}

check_native()
{
    say "real programs in the native rig:"
    check_suite native "$top/test/native/suite.sh" "$build"
    say "real programs with Debian 13's UCX in the native rig:"
    check_suite native-trixie \
        "$top/test/native/suite.sh" --suite trixie "$build"
}

# check_native_sanitized KIND: after build_sanitized
check_native_sanitized()
{
    say "real programs under the $1 sanitizer:"
    check_suite "native-$1" "$top/test/native/suite.sh" --programs "$build" "$build-$1"
}

# All of these tests run in one guest
check_rig()
{
    say "real MPI programs over verbs:"
    check_suite rig "$top/test/rig/run.sh" --timeout 1800 -- \
        "$top/test/rig/suite.sh" "$build"
}

main
