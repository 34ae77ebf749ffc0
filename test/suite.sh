# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What the suites of real programs have in common, test/rig/suite.sh and
# test/native/suite.sh. To be sourced by bash; needs $work, a folder for what
# tests leave behind, $pattern, which the names of tests to run contain, and
# $limit, after how many seconds a program is ended.
#
# shellcheck shell=bash disable=SC2154

# run NAME COMMAND...: passes if the command does. What depends on who gets a processor
# when may fail now and then, so that a test which has failed is given a second attempt,
# and is FLAKY if that passes. Not one that did not end, or that a sanitizer watches:
# these find what is rare.
run()
{
    local name=$1 log=$work/log status=0 begin=$SECONDS
    shift
    case $name in *"$pattern"*) ;; *) return ;; esac
    "$@" > "$log" 2>&1 || status=$?
    if may_be_flaky $status && mv "$log" "$work/first" && "$@" > "$log" 2>&1; then
        echo "FLAKY $name ($((SECONDS - begin)) s): status $status at first"
        tail -n 60 "$work/first" | sed 's/^/    /'
        return
    fi

    case $status in
    0)   echo "PASS $name ($((SECONDS - begin)) s)" ;;
    77)  echo "SKIP $name: $(tail -n 1 "$log")" ;;
    124) echo "FAIL $name: not done in $limit s" ;;
    *)   echo "FAIL $name (status $status)" ;;
    esac
    [ $status -eq 0 ] || tail -n 60 "$log" | sed 's/^/    /'
}

may_be_flaky()
{
    [ "$1" -ne 0 ] && [ "$1" -ne 77 ] && [ "$1" -ne 124 ] &&
        [ -z "${sanitizer:-}" ]
}

# A function for awk: the number in the field NAME of a line of JSON, or -1
# shellcheck disable=SC2016,SC2034
value='function value(name) {
           if (!match($0, "\"" name "\":[0-9.]+"))
               return -1
           return substr($0, RSTART + length(name) + 3) + 0
       }'

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
    awk -v ranks="$ranks" "$value"'
        { ++n }
        value("uses") <= 0 && value("arena_answered") <= 0 &&
        value("firehose_requests") <= 0 {
            print "rank without uses"
            bad = 1
        }
        value("bytes_now") != 0 { print "memory left registered"; bad = 1 }
        END {
            if (n != ranks) { print n " summaries of " ranks; bad = 1 }
            exit bad
        }' "$summary"
}

# no_errors COMMAND...: the command passes, and nothing is logged as an error
no_errors()
{
    local status=0
    "$@" > "$work/said" 2>&1 || status=$?
    cat "$work/said"
    [ $status -eq 0 ] && ! grep -q ' ERROR ' "$work/said"
}
