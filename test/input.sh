#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Bad input gets one message that names the value and what is accepted, and the
# program underneath runs as it would have without us.
#
# usage: input.sh BUILD-FOLDER

set -eu
build=$(cd "$1" && pwd)
top=$(cd "$(dirname "$0")/.." && pwd)
library=$build/src/uct/ib/predreg/.libs/libuct_predreg.so
command=$build/src/tools/predreg/ucx_predreg
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# refused STATUS PATTERN COMMAND...
refused()
{
    local expected=$1 pattern=$2 output status=0
    shift 2
    output=$("$@" 2>&1) || status=$?
    echo "== $*"
    echo "$output"
    [ "$status" -eq "$expected" ] || fail "status $status, not $expected"
    echo "$output" | grep -qE "$pattern" || fail "no '$pattern'"
}

# A program that initializes UCP, under the preload, with a variable set:
#   aside VARIABLE=VALUE PATTERN...
aside()
{
    local setting=$1 output pattern
    shift
    output=$(env "$setting" LD_PRELOAD="$library" ucx_info -e -u t 2>&1) ||
        fail "$setting: the program failed"
    echo "== $setting"
    echo "$output" | grep -v '^#' || true
    for pattern in "$@"; do
        echo "$output" | grep -qE "$pattern" || fail "$setting: no '$pattern'"
    done
    [ "$(echo "$output" | grep -c 'steps aside')" -eq 1 ] ||
        fail "$setting: stepping aside was not said once"
}

# not_accepted KNOB=VALUE ACCEPTED: likewise, with the whole name of the
# variable, what was typed and what is accepted on one line
not_accepted()
{
    local setting=UCX_RCACHE_PRED_$1
    aside "$setting" "ERROR $setting is not accepted; accepted: $2"
}

not_accepted POLICY=fast 'predict, on-demand, leave-pinned$'
not_accepted HELPER=none 'conservative, aggressive, progress, off$'
not_accepted PIECES=maybe 'y, n$'
not_accepted EAGER=maybe 'y, n$'
not_accepted ARENA=lots '0, or 1M to 1T, with a unit such as in 64M$'
not_accepted ARENA=4K '0, or 1M to 1T, with a unit such as in 64M$'
not_accepted ARENA_KEYS=none 'slab, use$'
not_accepted FIREHOSE_M=1K '4K to 1T, with a unit such as in 64M$'
not_accepted FIREHOSE_MAXVICTIM=inf '4K to 1T, with a unit such as in 64M$'
not_accepted EAGER_FRACTION=0 'numbers from 1 to 100, such as 1.5$'
not_accepted EAGER_ADAPT=inf 'numbers from 0 to 100, such as 0.5$'
not_accepted WINDOW=5 'whole numbers from 0 to 4$'
for value in 0 few 8x -1 4294967304 auto inf ''; do
    not_accepted HISTORY=$value 'whole numbers from 1 to 16$'
done
not_accepted DQ_SIZE=1000 'powers of 2 from 64 to 1048576$'
not_accepted MAX_SITES=1 'whole numbers from 16 to 16777216$'
not_accepted KNOWN_REGIONS=4294967312 'whole numbers from 16 to 16777216$'
for value in 100K 17592186044422M -1 auto 64MBx; do
    not_accepted MAX_PINNED=$value '256K to 8388607T, .* 64M, or inf$'
done
not_accepted MAX_REGIONS=3 'whole numbers from 4 to [0-9]*, or inf$'
not_accepted NODE_MAX_PINNED=lots '256K to 8388607T, .* 64M, or inf$'
aside UCX_RCACHE_ENABLE=y          "UCX_RCACHE_ENABLE=y keeps UCX's own cache"
aside UCX_MEM_EVENTS=n             'memory events of UCM are not available'

# A component that UCX does not have is named, once in a process, and nothing is managed
refused 0 "COMPONENTS: there is no component 'bi' here; there are .*self" \
    env UCX_RCACHE_PRED_COMPONENTS=bi LD_PRELOAD="$library" ucx_info -e -u t

# So are values in UCX's configuration files
folder=$(mktemp -d)
echo 'UCX_RCACHE_PRED_HISTORY = 4294967304' > "$folder/ucx.conf"
UCX_CONFIG_DIR=$folder LD_PRELOAD=$library ucx_info -e -u t 2>&1 |
    grep 'ERROR UCX_RCACHE_PRED_HISTORY=4294967304 is not accepted; accepted' ||
    fail "a value in a configuration file was accepted"
rm -r "$folder"

# UCX itself warns of a misspelt variable
echo "== misspelt"
UCX_RCACHE_PRED_POLCY=predict LD_PRELOAD=$library ucx_info -e -u t 2>&1 |
    grep 'unused env variable: UCX_RCACHE_PRED_POLCY' ||
    fail "a misspelt variable was not warned about"

# UCX does not warn of a variable that is spelt well
! UCX_RCACHE_PRED_POLICY=predict LD_PRELOAD=$library ucx_info -e -u t 2>&1 |
    grep 'unused env variable' || fail "UCX does not know our variables"

# Processes without UCX are not disturbed
[ -z "$(UCX_RCACHE_PRED_POLICY=fast LD_PRELOAD=$library sh -c : 2>&1)" ] ||
    fail "a process without UCX was spoken to"

# Without the core beside it the library says so once, and the program runs
alone=$(mktemp -d)
cp "$library" "$alone"
echo "== no core"
output=$(LD_PRELOAD=$alone/libuct_predreg.so ucx_info -e -u t 2>&1) ||
    fail "without its core: the program failed"
echo "$output" | grep 'stepping aside: cannot load' ||
    fail "without its core: nothing said"
rm -r "$alone"

refused 2 'fast.*predict.*on-demand.*leave-pinned' \
    "$command" run --policy fast -- true
refused 2 "no knob 'HISTRY', the nearest is HISTORY; accepted: POLICY" \
    "$command" run --set HISTRY=3 -- echo started
refused 2 "no knob 'POLCY', the nearest is POLICY; accepted: POLICY" \
    "$command" record -o /nowhere --set polcy=predict -- echo started
refused 2 'HISTORY=99 is not accepted; accepted: whole numbers from 1 to 16' \
    "$command" run --set HISTORY=99 -- echo started
refused 2 'HISTORY=99 is not accepted; accepted: whole numbers from 1 to 16' \
    env UCX_RCACHE_PRED_HISTORY=99 "$command" run -- echo started
! "$command" run --set HISTRY=3 -- echo started 2>&1 | grep '^started' ||
    fail "a program was started with a knob that there is not"
refused 2 'UCX_RCACHE_PRED_POLICY=fast is not accepted' \
    env UCX_RCACHE_PRED_POLICY=fast "$command" run -- true
refused 2 "PRED_HISTRY: there is no knob 'HISTRY', the nearest is HISTORY" \
    env UCX_RCACHE_PRED_HISTRY=3 "$command" run -- echo started
refused 2 'xml.*text.*json' "$command" run --summary=xml -- true
refused 2 '/nowhere/at/all' \
    "$command" run --summary --summary-file /nowhere/at/all/s.json -- true
for tool in run record; do
    refused 2 'accepted: --summary-file /nowhere/s.json for the summary' \
        "$command" $tool --output /nowhere/s.json -- echo started
done
refused 2 'accepted: --summary=json COMMAND' "$command" run --summary json true
refused 127 '/nowhere/lib.so' \
    "$command" run --library /nowhere/lib.so -- true
for file in /etc/passwd "${library%.so}_core.so" /bin/true; do
    refused 127 "'$file' is not libuct_predreg.so" \
        "$command" run --library "$file" -- echo started
done
renamed=$(mktemp)
cp "$library" "$renamed"
strip "$renamed"
refused 0 '^started$' "$command" run --library "$renamed" -- echo started
rm "$renamed"
refused 127 'no-such-program' "$command" run -- no-such-program

refused 2 'calibrate --help' "$command" calibrate --remeasure
refused 2 "EAGER_ADAPT=inf is not accepted; accepted: numbers from 0 to 100" \
    "$command" calibrate --set EAGER_ADAPT=inf
refused 2 "no knob 'EAGR', the nearest is EAGER" \
    "$command" calibrate --set EAGR=y
refused 127 "'no-such-program' was not found" \
    "$command" calibrate -- no-such-program
refused 1 'UCX has no memory domain of none here' \
    "$command" calibrate --set COMPONENTS=none

# Traces
traces=$(mktemp -d)
refused 1 "there is no trace in '$traces'" "$command" dump "$traces"
refused 1 "'/nowhere/at/all': No such file.*accepted: a trace, a folder" \
    "$command" dump /nowhere/at/all
refused 1 'ucx_predreg: not a trace' "$command" dump "$command"
printf 'ucx_predreg trace 1\nbegin 1 here 1\n' > "$traces/bad.trace"
refused 1 "bad.trace: line 2: 'here': expected an address" \
    "$command" dump "$traces"
printf 'ucx_predreg trace 9\n' > "$traces/bad.trace"
refused 1 'version 9; accepted are versions up to 3' "$command" dump "$traces"
printf 'ucx_predreg trace 1\n' > "$traces/bad.trace"
refused 1 "cannot write to '/nowhere/at/all'" \
    "$command" dump -o /nowhere/at/all "$traces"
refused 1 "cannot write to '/dev/full': No space" \
    "$command" dump -o /dev/full "$traces"
refused 1 "cannot write to '/dev/full': No space" \
    "$command" dump --binary -o /dev/full "$traces"
for tool in dump 'replay --json' 'report --json'; do
    echo "== $tool of standard input"
    # shellcheck disable=SC2086
    "$command" $tool "$traces/bad.trace" > "$traces/named"
    # shellcheck disable=SC2086
    "$command" $tool - < "$traces/bad.trace" | sed "s#/dev/stdin#$traces/bad.trace#g; s#\bstdin\b#bad.trace#g" |
        diff "$traces/named" - || fail "$tool of standard input is another"
done
printf 'ucx_predreg trace 1\nbegin here\n' > "$traces/named"
refused 1 '/dev/stdin: line 2: ' sh -c '"$0" dump - < "$1"' "$command" "$traces/named"
rm "$traces/named"
refused 2 'needs a file to write to' "$command" dump --binary "$traces"
refused 2 'accepted: one file or folder' "$command" dump
refused 2 'accepted: one file or folder' "$command" dump "$traces" "$traces"
printf 'ucx_predreg trace 1\n' > "$traces/second.trace"
refused 1 'has more than one trace; --binary accepts one' \
    "$command" dump --binary -o "$traces/both" "$traces"

# A damaged trace does not make the others of its folder unreadable
: > "$traces/empty.trace"
for tool in dump 'replay --policy predict' 'report -o /dev/null'; do
    # shellcheck disable=SC2086
    refused 0 "warning: '$traces/empty.trace' is left out" \
        "$command" $tool "$traces"
done
rm "$traces/empty.trace"

# What is logged does not get into what is printed
truncated=$(mktemp --suffix .trace)
printf 'ucx_predreg trace 1\nmeta rank 1\n' > "$traces/whole"
"$command" dump --binary -o "$truncated" "$traces/whole"
truncate -s -4 "$truncated"
for args in dump 'replay --json --policy on-demand'; do
    echo "== $args of a truncated trace"
    "$command" $args "$truncated" > "$traces/out" 2> "$traces/err" ||
        fail "$args of a truncated trace failed"
    cat "$traces/err"
    grep -q '^ucx_predreg: .*the file ends too early' "$traces/err" ||
        fail "$args: the warning is not on standard error"
    ! grep -E 'WARN|ERROR|ends too early' "$traces/out" ||
        fail "$args: the log is on standard output"
done
rm "$truncated" "$traces/whole" "$traces/out" "$traces/err"

# The traces of a folder come by name; those that the library writes have names
# that begin with the rank
printf 'ucx_predreg trace 1\nmeta rank 10\n' > "$traces/a.trace"
printf 'ucx_predreg trace 1\nmeta rank 9\n' > "$traces/b.trace"
"$command" dump --binary -o "$traces/binary" "$traces/b.trace"
mv "$traces/binary" "$traces/b.trace"
[ "$("$command" dump "$traces" | grep '^#' | sed 's/.*\///' | xargs)" = \
  "a.trace b.trace bad.trace second.trace" ] ||
    fail "traces are not in the order of their names"

# Two jobs in one folder are not taken for one without a word
printf 'ucx_predreg trace 1\nmeta rank 9\n' > "$traces/c.trace"
for tool in 'replay --json' 'replay --json --ranks 4' 'report -o /dev/null'; do
    # shellcheck disable=SC2086
    refused 0 "rank 9 has two traces, '$traces/b.trace' and '$traces/c.trace'" \
        "$command" $tool "$traces"
done
rm -r "$traces"

# Traces of a job are not mixed with those of another, nor removed unless asked
traces=$(mktemp -d)
touch "$traces/rank-0000.a.1.trace" "$traces/notes"
refused 2 "'$traces' has traces.*rank-0000.a.1.trace.*--force" \
    "$command" record -o "$traces" -- true
[ -e "$traces/rank-0000.a.1.trace" ] || fail "a trace was removed unasked"
refused 127 'no-such-program' \
    "$command" record -o "$traces" --force -- no-such-program
refused 126 'notes.*denied' \
    "$command" record -o "$traces" --force -- "$traces/notes"
refused 127 '/nowhere/lib.so' \
    "$command" record -o "$traces" --force --library /nowhere/lib.so -- true
[ -e "$traces/rank-0000.a.1.trace" ] ||
    fail "a trace was removed although nothing ran"
echo 'of another tool' > "$traces/qemu-run.trace"
refused 2 "qemu-run.trace.*no trace.*another folder" \
    "$command" record -o "$traces" --force -- true
[ -e "$traces/qemu-run.trace" ] || fail "--force removed what is no trace"
[ -e "$traces/rank-0000.a.1.trace" ] ||
    fail "a trace was removed although nothing ran"
printf 'ucx_predreg trace 1\n' > "$traces/qemu-run.trace"
refused 0 "no traces in '$traces' yet.*; next: ucx_predreg info" \
    "$command" record -o "$traces" --force -- true
[ ! -e "$traces/qemu-run.trace" ] || fail "--force left a trace"
[ ! -e "$traces/rank-0000.a.1.trace" ] || fail "--force left a trace"
[ -e "$traces/notes" ] || fail "--force removed what is no trace"
refused 127 'no-such-program' \
    "$command" record -o "$traces/new" --summary-file "$traces/new.txt" -- \
    no-such-program
[ ! -e "$traces/new" ] || fail "a folder for no job was left"
[ ! -e "$traces/new.txt" ] || fail "a file for no job was left"
refused 2 "$traces/notes.*Not a directory" \
    "$command" record -o "$traces/notes" -- true
refused 2 '/nowhere/at/all.*No such file' \
    "$command" record -o /nowhere/at/all -- true
refused 2 'no command to run.*record' "$command" record -o "$traces"
refused 2 'record --help' "$command" record --no-such-option -- true
refused 2 'run --help' "$command" run --force -- true

# The folder is known to ranks as an absolute path, and they are told of it
# under leave-pinned as well
folder=$(cd "$traces" && "$command" record -o new --policy leave-pinned -- \
         sh -c 'echo "$UCX_RCACHE_PRED_TRACE $LD_PRELOAD"')
echo "$folder"
[[ $folder == "$traces/new /"*libuct_predreg.so ]] ||
    fail "the ranks were not told of the folder"
rm -r "$traces"
refused 2 'ARENA=4k is not accepted; accepted: 0, or 1M to 1T' \
    "$command" replay --policy arena=4k .
refused 2 "'fastest'.*clairvoyant" "$command" replay --policy fastest .
refused 2 "'0'.*1 to" "$command" replay --ranks 0 .
refused 2 "'many'.*1 to" "$command" replay --ranks many .
refused 2 "'lots'.*512m" "$command" replay --ranks 4 --node-max lots .
refused 2 'ranks-per-node.*--ranks asks for' \
    "$command" replay --ranks-per-node 4 .
refused 2 'needs --ranks-per-node' \
    "$command" replay --ranks 8 --cores-per-node 4 .
refused 2 '3; accepted.*4 ranks' \
    "$command" replay --ranks 8 --ranks-per-node 4 --cores-per-node 3 .
# Reports
traces=$(mktemp -d)
printf 'ucx_predreg trace 1\n' > "$traces/empty.trace"
refused 1 "cannot write to '/nowhere/at/all'" \
    "$command" report -o /nowhere/at/all "$traces"
refused 1 "cannot write to the standard output: No space" \
    sh -c '"$0" replay "$1" > /dev/full' "$command" "$traces"
refused 1 "cannot write to '/dev/full': No space" \
    "$command" report -o /dev/full "$traces"
refused 1 "'/nowhere/at/all': No such file" "$command" report /nowhere/at/all
refused 2 'accepted: one file or folder' "$command" report
refused 2 'accepted: one file or folder' "$command" report "$traces" "$traces"

# Nothing that is read, and no recording, is written over; and a full disk leaves what was
# there. Each of these would destroy a recording or a report
before=$(md5sum < "$traces/empty.trace")
for args in "dump -o $traces/empty.trace $traces/empty.trace" \
    "dump --binary -o $traces $traces/empty.trace" \
    "dump -o $traces/empty.trace $traces" \
    "report -o $traces/empty.trace $traces" \
    "report -o $traces $traces" \
    "report -o $traces/../$(basename "$traces")/empty.trace $traces/empty.trace"; do
    status=0
    # shellcheck disable=SC2086
    output=$("$command" $args 2>&1) || status=$?
    echo "== $args"
    echo "$output"
    [ "$status" -ne 0 ] || fail "status $status"
    [ "$(wc -l <<< "$output")" -eq 1 ] || fail "not one line"
    grep -q 'is what is read; accepted: another file' <<< "$output" || fail "not refused"
    [ "$before" = "$(md5sum < "$traces/empty.trace")" ] || fail "a trace was lost"
done
cp "$traces/empty.trace" "$traces/other"
for args in "report -o $traces/other $traces" "dump -o $traces/other $traces" \
    "run --summary-file $traces/other -- true" \
    "run --set SUMMARY_FILE=$traces/other -- true"; do
    # shellcheck disable=SC2086
    refused 2 "'$traces/other' is a trace; accepted: another file" "$command" $args
done
refused 0 '^/dev/null$' sh -c '"$0" run -- readlink /proc/self/fd/0 <&-' "$command"
refused 2 "standard output' is what is read" \
    sh -c '"$0" dump "$1" >> "$1"' "$command" "$traces/other"
cmp "$traces/empty.trace" "$traces/other" || fail "a trace was lost"
mkdir "$traces/small"
echo old > "$traces/small/page.html"
if mount -t tmpfs -o size=16k none "$traces/small" 2> /dev/null; then
    echo old > "$traces/small/page.html"
    refused 1 "cannot write to '$traces/small/page.html': No space" \
        "$command" report -o "$traces/small/page.html" "$traces"
    [ "$(ls -A "$traces/small")" = page.html ] || fail "a full disk left more than was there"
    [ "$(cat "$traces/small/page.html")" = old ] || fail "a full disk destroyed a report"
    umount "$traces/small"
fi
# The same where nobody may mount: the kernel writes no file beyond a limit
refused 1 "cannot write to '$traces/small/page.html': File too large" \
    bash -c 'trap "" XFSZ; ulimit -f 1; "$0" report -o "$1" "$2"' "$command" \
    "$traces/small/page.html" "$traces"
[ "$(cat "$traces/small/page.html")" = old ] || fail "a full disk destroyed a report"
rm -r "$traces"

# An unknown UCX is refused by configure, naming it and what is accepted
fake=$(mktemp -d)
for module in ucx ucx-uct ucx-ucs; do
    printf 'Name: %s\nDescription: -\nVersion: 1.12.1\n' $module \
        > "$fake/$module.pc"
done
refused 1 'found UCX 1.12.1; accepted are 1.13' \
    env --chdir "$fake" PKG_CONFIG_PATH="$fake" "$top/configure"
rm -r "$fake"

# So do the programs of the tests
for value in 3q -1 1.5 ''; do
    refused 2 "size: '$value'; accepted: whole numbers from 0, also with k" \
        "$build/test/apps/fig1" --size "$value"
done

# The scripts say what they accept before they install or build anything
nobuild=$(mktemp -d)
refused 0 '^usage: check.sh \[PART\]' \
    env PREDREG_BUILD="$nobuild/build" timeout 20 "$top/contrib/check.sh" --help
refused 1 "unknown part 'unitt'; accepted: structure.* unit.* coverage" \
    env PREDREG_BUILD="$nobuild/build" timeout 20 "$top/contrib/check.sh" \
    unit unitt
for script in evaluate.sh demo.sh; do
    refused 0 "^usage: $script " \
        env PREDREG_BUILD="$nobuild/build" "$top/contrib/$script" --help
    refused 1 "unknown argument 'fig99'; accepted" \
        env PREDREG_BUILD="$nobuild/build" "$top/contrib/$script" fig99
    for value in 0 21 many ''; do
        refused 1 "repetitions: '$value'; accepted: 1 to 20" \
            env PREDREG_BUILD="$nobuild/build" "$top/contrib/$script" \
            --repetitions "$value"
    done
    refused 1 "repetitions: ''; accepted: 1 to 20" \
        env PREDREG_BUILD="$nobuild/build" "$top/contrib/$script" --repetitions
    refused 1 "cannot write to '/proc/results'; accepted: a folder" \
        env PREDREG_BUILD="$nobuild/build" "$top/contrib/$script" \
        --out /proc/results
done
refused 1 "budget: '59'; accepted: 60 to 86400" \
    env PREDREG_BUILD="$nobuild/build" "$top/contrib/evaluate.sh" --budget 59
refused 1 "advice: '24'; accepted: 1 to 23" \
    env PREDREG_BUILD="$nobuild/build" "$top/contrib/evaluate.sh" --advice 24
refused 1 "program: 'cg=true'; accepted: NAME=COMMAND.* none of ours" \
    env PREDREG_BUILD="$nobuild/build" "$top/contrib/evaluate.sh" \
    --program cg=true
touch "$nobuild/table.md"
refused 1 "'$nobuild' has files in it already; accepted: a new folder" \
    env PREDREG_BUILD="$nobuild/build" "$top/contrib/evaluate.sh" \
    --out "$nobuild"
[ ! -e "$nobuild/build" ] || fail "a script began to build"
refused 77 "native rig is not built in $nobuild: .*--build DIR" \
    "$top/test/rig/run.sh" --cma --build "$nobuild" -- true
refused 125 "timeout: '0'; accepted: a whole number from 1" \
    "$top/test/rig/run.sh" --timeout 0 -- true
rm -r "$nobuild"

# Lines of JSON are as their schema says
if command -v python3 > /dev/null; then
    echo "== lines of JSON"
    traces=$(mktemp -d)
    cat > "$traces/a.trace" <<TRACE
ucx_predreg trace 3
meta rank 0
domain 0 mlx5_0
begin 1 0x100000 1M id=1 duration=100us
end 1.01 id=1
begin 2 0x100000 1M id=2 duration=100us
end 2.01 id=2
TRACE
    {
        "$command" replay --json --per-rank --curve "$traces"
        "$command" replay --json --ranks 4 --cores-per-node 4 --ranks-per-node 2 "$traces"
        "$command" report --json "$traces"
        "$command" info --json || true
        "$command" calibrate --json || true
        mkfifo "$traces/in"
        "$build/test/apps/liveproc" plain < "$traces/in" > "$traces/out" &
        exec 9> "$traces/in"
        until [ -s "$traces/out" ]; do
            sleep 0.05
        done
        sleep 0.2
        "$command" stat --json $!
        exec 9>&-
    } > "$traces/lines" 2> /dev/null
    python3 "$top/test/json_lines.py" "$top/docs/json.schema.json" \
        replay scale report info calibrate stat < "$traces/lines" ||
        fail "lines are not as the schema says"
    ! python3 "$top/test/json_lines.py" "$top/docs/json.schema.json" \
        <<< '{"type": "stat", "uses": "many", "new": 1}' ||
        fail "the schema accepts anything"
    rm -r "$traces"
fi

# Completion has the sub-commands, options and knobs that the program has
# complete_to WORDS WORD...: the last word of a command line is completed to these
complete_to()
{
    local expected=$1 output
    shift
    # shellcheck disable=SC2016
    output=$(PATH=$(dirname "$command"):$PATH bash -c '
        . "$0/contrib/completion/ucx_predreg"
        compopt() { :; }
        COMP_WORDS=(ucx_predreg "$@")
        COMP_CWORD=$#
        _ucx_predreg ucx_predreg "${COMP_WORDS[$#]}" "${COMP_WORDS[$# - 1]}"
        echo "${COMPREPLY[*]}"' "$top" "$@")
    echo "== completion of $*: $output"
    [ "$output" = "$expected" ] || fail "completion of $*: not $expected"
}

complete_to 'record replay report' re
complete_to 'help' he
complete_to 'calibrate' help cal
complete_to '--summary --summary-file --set' run --s
complete_to '--folder --force' record --fo
complete_to 'MAX_PINNED= MAX_REGIONS=' run --set MAX
complete_to 'ucx_info' run --policy predict -- ucx_inf
complete_to '' dump some

exit $errors
