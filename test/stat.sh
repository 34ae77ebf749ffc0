#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# ucx_predreg stat, looking at processes that show counters as managed ones do
# (test/apps/liveproc), and at such that do not. The real thing is looked at in
# rig/suite.sh. What needs other users is left out without root.
#
# usage: stat.sh BUILD-FOLDER

set -u
build=$1
command=$build/src/tools/predreg/ucx_predreg
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
work=$(mktemp -d)
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# start KIND: a process that lives until its input ends; its pid is in $pid, and
# what it printed in $said
start()
{
    rm -f "$work/out"
    mkfifo "$work/in" 2> /dev/null
    "$build/test/apps/liveproc" "$1" < "$work/in" > "$work/out" &
    pid=$!
    exec 9> "$work/in"
    until [ -s "$work/out" ]; do
        sleep 0.05
    done
    said=$(cat "$work/out")
}

stop()
{
    exec 9>&-
    wait "$pid" 2> /dev/null
}

# expect STATUS PATTERN COMMAND...: the pattern is found in all that is printed
expect()
{
    local expected=$1 pattern=$2 output status=0
    shift 2
    output=$("$@" 2>&1 < /dev/null) || status=$?
    echo "== $*"
    echo "$output"
    [ "$status" -eq "$expected" ] || fail "status $status, not $expected"
    echo "$output" | grep -qE -- "$pattern" || fail "no '$pattern'"
}

# Value of a member of a JSON object
value()
{
    echo "$1" | sed -n "s/.*\"$2\":\([^,}]*\)[,}].*/\1/p"
}

# grows KIND: uses that are there, and more of them later
grows()
{
    local first second
    start "$1"
    sleep 0.3
    first=$("$command" stat --json $pid)
    sleep 0.3
    second=$("$command" stat --json $pid)
    echo "$second"
    [ "$(value "$first" uses)" -gt 0 ] || fail "$1: no uses"
    [ "$(value "$second" uses)" -gt "$(value "$first" uses)" ] ||
        fail "$1: uses do not grow"
    [ "$(value "$second" pid)" = "$pid" ] || fail "$1: pid"
    [ "$(value "$second" rank)" = 3 ] || fail "$1: rank"
    stop
}

echo "== counters"
grows plain
grows leave

start plain
sleep 0.3
expect 0 "^liveproc +3 +$pid predict +thread +8.0M 16.0M" "$command" stat $pid
expect 0 '^[0-9:]+  1 process, 8.0M registered, 0B pinned, 12 keys$' "$command" stat $pid
# The rate of the second table is that of the time between them
expect 0 liveproc "$command" stat --interval 0.5 --count 2 $pid $pid
rate=$("$command" stat --interval 0.5 --count 2 $pid |
       awk '/liveproc/ { rate = $10 } END { print int(rate) }')
[ "$rate" -ge 10 ] && [ "$rate" -le 110 ] || fail "rate $rate, not about 90"
expect 0 '^liveproc +8.0M +[0-9.]+$' "$command" stat --columns hit%,now $pid
expect 2 "--columns: there is no column 'THEN'; accepted: RANK, PID, " "$command" stat --columns NOW,THEN
# Asked for no process in particular, it finds this one among others
expect 0 "$pid" "$command" stat
# Those that are there are shown beside those that are not
expect 1 'there is no such process' "$command" stat $pid 4194303
expect 1 "\"pid\":$pid" "$command" stat --json 4194303 $pid
expect 1 'accepted are processes that were started with it' \
    "$command" stat $$ $pid

expect 1 'cannot be written: No space' \
    sh -c '"$0" stat --interval 0.1 "$1" > /dev/full' "$command" $pid

# Other users cannot look at it
if [ "$(id -u)" -eq 0 ]; then
    expect 1 "$pid belongs to user root .uid 0.; accepted .* of nobody" \
        setpriv --reuid=65534 --clear-groups "$command" stat $pid
    expect 1 'no process of this user on this node is managed' \
        setpriv --reuid=65534 --clear-groups "$command" stat
fi

# That a process ends while its counters are shown is said once
echo "== ends"
"$command" stat --interval 0.2 $pid > "$work/table" 2> "$work/errors" &
watcher=$!
sleep 0.5
kill -9 $pid
wait $watcher || fail "status $? of a process that ended"
cat "$work/errors"
grep -cE "process $pid(: there is no such process| has ended)" "$work/errors" |
    grep -qx 1 || fail "its end was not said once"
stop
expect 1 "process $pid: there is no such process" "$command" stat $pid

# complaint KIND PATTERN
complaint()
{
    start "$1"
    expect 1 "process $pid[ :].*$2" "$command" stat $pid
    stop
}

complaint version 'counters of version [0-9]+; accepted is version [0-9]+'
complaint damaged 'is damaged, or none'
complaint writing 'is just writing its counters'
complaint closed 'has closed a descriptor'

# A process that is stopped shows what it showed last
start plain
sleep 0.2
kill -STOP $pid
expect 0 "^liveproc +3 +$pid predict" "$command" stat $pid
kill -CONT $pid
stop

# A child shows its own counters or none
start forks
expect 1 "process $said shows no counters but those of process $pid" \
    "$command" stat "$said"
expect 0 "$pid" "$command" stat "$pid"
stop

if [ "$(id -u)" -eq 0 ]; then
    # A user of its own, for whom the process is protected
    chmod 711 "$work"
    cp "$build/test/apps/liveproc" "$command" "$work"
    mkfifo "$work/in2"
    setpriv --reuid=65534 --clear-groups "$work/liveproc" protected \
        < "$work/in2" > /dev/null &
    pid=$!
    exec 8> "$work/in2"
    sleep 0.3
    expect 1 "process $pid cannot be looked into .*PR_SET_DUMPABLE" \
        setpriv --reuid=65534 --clear-groups "$work/ucx_predreg" stat $pid
    expect 1 'processes that cannot be looked into: 1; given by number' \
        setpriv --reuid=65534 --clear-groups "$work/ucx_predreg" stat
    expect 0 "$pid predict" "$command" stat $pid
    exec 8>&-
    wait $pid
fi

# Programs without the library's counters
sleep 60 &
expect 1 'does not have libuct_predreg.so loaded' "$command" stat $!
kill $!
LD_PRELOAD=$library sleep 60 &
sleep 0.2
expect 1 'is loaded, but the program does not use UCX' "$command" stat $!
kill $!

expect 2 "'abc' is no process; accepted: process ids" "$command" stat abc
expect 2 "'-1'|invalid option" "$command" stat -1
expect 2 "'0' is no process" "$command" stat 0
expect 2 "'4194304' is no process" "$command" stat 4194304
expect 2 "--interval: '0'; accepted: seconds from 0.1" \
    "$command" stat --interval 0
expect 2 "--interval: 'nan'" "$command" stat --interval nan
expect 2 "--interval: '1s'" "$command" stat --interval 1s
expect 2 "--count: '0'; accepted: whole numbers" "$command" stat --count 0
expect 2 "stat --help lists what is accepted" "$command" stat --xml
expect 0 'usage: ucx_predreg stat' "$command" stat --help
rm -rf "$work"
exit $errors
