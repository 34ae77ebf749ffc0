#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# ucx_predreg replay as a command: what it prints, that it always prints the
# same, and what it says of bad input.
#
# usage: replay.sh BUILD-FOLDER

set -eu
build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
command=$build/src/tools/predreg/ucx_predreg
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
errors=0

fail()
{
    echo "FAILED: $*"
    errors=1
}

# make NAME [SETTING...]: a trace of a program that nobody has recorded
make()
{
    local name=$1 settings=()
    shift
    for setting in "$@"; do
        settings+=(-v "$setting")
    done
    awk -f "$top/test/traces/make_trace.awk" "${settings[@]}" \
        > "$work/$name.trace"
}

# refused STATUS PATTERN ARGUMENT...
refused()
{
    local expected=$1 pattern=$2 status=0 output
    shift 2
    output=$("$command" replay "$@" 2>&1) || status=$?
    echo "== $*: $output" | head -n 3
    [ $status -eq "$expected" ] || fail "$*: status $status, not $expected"
    echo "$output" | grep -qE -- "$pattern" || fail "$*: no '$pattern'"
}

# field NAME < JSON
field()
{
    sed -n "s/.*\"$1\":\\([0-9.]*\\).*/\\1/p"
}

make loop uses=100
make random pattern=random uses=2000
make nested pattern=nested uses=900
trace=$work/loop.trace

# What comes of 100 uses of 1 MiB for 5 ms can be said beforehand
json=$("$command" replay --json --policy on-demand --reg-cost 1000,0 \
           --dereg-cost 500,0 "$trace")
echo "$json"
pattern='^{"type":"replay","policy":"on-demand","pinned_avg_bytes":[0-9]+,'
pattern+='"pinned_peak_bytes":1048576,"byte_seconds":524445.286400,"uses":100,'
pattern+='"hits":0,"late":0,"early":0,"wasted":0,'
pattern+='"critical_path_seconds":0.000150000,"duration_seconds":0.995150000,'
pattern+='"causes":\{"use":524288.000000,'
echo "$json" | grep -qE "$pattern" || fail "on-demand: not as computed by hand"
[ "$("$command" replay --json --policy predict "$trace" | field hits)" -eq 98 ] ||
    fail "predict: not all but two uses of a loop are hits"

# All policies, also those that have no row by themselves
"$command" replay --help | sed -n '/^  --policy/,/;/p' |
    sed 's/;.*//; s/--policy P\[,P\.\.\.\]//; s/\[=[A-Z]*\]//g' |
    tr -s ', ' '\n' | sed '/^$/d' | sort > "$work/policies"
policies=$(wc -l < "$work/policies")
[ "$policies" -gt 0 ] || fail "the help names no policy"
all=$(paste -sd, "$work/policies")

# The result does not depend on the run, nor on where memory is
for run in 1 2 3; do
    "$command" replay --json --per-rank --policy "$all" "$work" \
        > "$work/out.$run"
done
setarch -R "$command" replay --json --per-rank --policy "$all" "$work" \
    > "$work/out.4" ||
    cp "$work/out.1" "$work/out.4" # Not permitted here
for run in 2 3 4; do
    cmp "$work/out.1" "$work/out.$run" || fail "run $run differs from the first"
done

# Each policy that the help names is played for all ranks, and for each of them
names()
{
    sed 's/.*"policy":"\([^"]*\)".*/\1/' | sort
}
grep -v '"rank":' "$work/out.1" | names | cmp - "$work/policies" ||
    fail "not one row of all ranks for each policy of the help"
grep '"rank":' "$work/out.1" | names | uniq -c | awk '$1 == 3 { print $2 }' |
    cmp - "$work/policies" || fail "not 3 ranks a policy"

# All ranks are the sum of them
for name in uses byte_seconds critical_path_seconds regs; do
    grep '"policy":"predict"' "$work/out.1" | field $name | awk -v n=$name '
        NR == 1 { sum = $1 }
        NR > 1  { sum -= $1 }
        END     { exit !(NR == 4 && sum < 0.001 && sum > -0.001) }' ||
        fail "$name of all ranks is not the sum"
done

# Under a bound of the node all ranks are played together: it holds for their sum, and the
# waits are those of all ranks
node=("$command" replay --json --per-rank --shared-processor --policy predict
      --set NODE_MAX_PINNED=2M "$work")
"${node[@]}" > "$work/out.1"
"${node[@]}" | cmp "$work/out.1" - || fail "ranks of a node: two runs differ"
awk '
    function value(name) {
        match($0, "\"" name "\":[0-9.]+")
        return substr($0, RSTART + length(name) + 3) + 0
    }
    NR == 1 { peak = value("pinned_peak_bytes"); sum = value("critical_path_seconds") }
    NR > 1  { sum -= value("critical_path_seconds") }
    END { exit !(NR == 4 && peak <= 2097152 && sum < 1e-6 && sum > -1e-6) }' \
    "$work/out.1" || fail "ranks of a node: $(cat "$work/out.1")"

# What is printed for people says it as well
text=$("$command" replay "$work/nested.trace")
echo "$text"
for pattern in '^predict  ' '^clairvoyant  ' 'a guess: none was recorded' \
    'predict registers [0-9.]* times the byte-seconds of clairvoyant'; do
    echo "$text" | grep -q "$pattern" || fail "no '$pattern'"
done

# The curve: a row for each budget, and for each of the policies beside it; memory
# falls and run time grows with the budget; one budget is recommended, which the
# text says as well. None saves anything of a buffer that is always in use
curve=$("$command" replay --curve --shared-processor --json "$work/random.trace")
echo "$curve" | awk -v n=0 '
    function value(name) {
        match($0, "\"" name "\":[0-9.]+")
        return substr($0, RSTART + length(name) + 3) + 0
    }
    /"policy":"predict"/      { memory[n]  = value("pinned_avg_bytes")
                                time[n++]  = value("duration_seconds")
                                chosen    += /"recommended":true/ }
    /"recommended":true/      { took = value("duration_seconds") }
    /"policy":"leave-pinned"/ { pinned = value("duration_seconds"); ++others }
    /"policy":"(on-demand|clairvoyant)"/ { ++others }
    END { exit !(n == 7 && others == 3 && chosen == 1 &&
                 memory[6] < memory[0] / 2 && time[6] > time[0] &&
                 took <= 1.01 * pinned) }' || fail "no curve: $curve"
budget=$(echo "$curve" | grep '"recommended":true' | field budget)
text=$("$command" replay --curve --shared-processor "$work/random.trace")
echo "$text"
said=$(echo "$text" | sed -n 's/^  ucx_predreg run --set BUDGET=\(.*\) -- .*/\1/p')
echo "$said ${budget:-inf}" | awk '{ exit !($1 == $2 || $1 + 0 == $2 + 0) }' ||
    fail "BUDGET=$said, and in JSON $budget"
make single uses=1
printf 'ucx_predreg trace 1\n' > "$work/empty.trace"
for name in single empty; do
    "$command" replay --curve "$work/$name.trace" |
        grep -q '^no budget saves memory within 1 %' ||
        fail "$name: a budget is said to save something"
done
rm "$work/single.trace" "$work/empty.trace"

# Small sends are counts: an object of its own, and sentences. What they cost
# is not in this trace
{ printf 'ucx_predreg trace 2\nmeta ucx_version 1.13.999\n'
  printf 'sends 0x%x000 4096 50 1\n' 1 2
  echo 'sends 0x3000 512 1'
} > "$work/small.trace"
sends=$("$command" replay --json "$work/small.trace" | grep '"eager"')
for part in '"eager":"unknown"' '"ranks":1,"calibrated":0' '"buffers":3' \
    '"sends":101' '"copied":2' '"most_sends":50' '"length":4096' \
    '"hot_sends":null'; do
    echo "$sends" | grep -q "$part" || fail "$part is not in $sends"
done
text=$("$command" replay "$work/small.trace")
for pattern in '^small sends: 101, of 3 buffers; 97.03 %' \
    'what they cost is not in the traces of 1 of 1 ranks: record them anew'; do
    echo "$text" | grep -q "$pattern" || fail "no '$pattern' in: $text"
done
! "$command" replay --json "$trace" | grep -q eager || fail "small sends of none"
sed -i 's/trace 2/trace 1/' "$work/small.trace"
refused 1 "line 3: 'sends': expected begin" "$work/small.trace"
rm "$work/small.trace"

# What is missing in a trace is said beside every figure, and to people
mkdir "$work/damaged"
{ cat "$trace"; echo 'lost 7'; echo 'truncated'; } > "$work/damaged/1.trace"
cp "$trace" "$work/damaged/2.trace"
damage='"lost":7,"truncated":true'
[ "$("$command" replay --json --policy "$all" \
     "$work/damaged" 2>/dev/null | grep -c "$damage")" -eq "$policies" ] || fail "no '$damage' in each row"
[ "$("$command" replay --json --policy predict --ranks 4 "$work/damaged" \
     2>/dev/null | grep -c "$damage}")" -eq 2 ] ||
    fail "no '$damage' in each row of a larger job"
[ "$("$command" replay --json --per-rank --policy lru "$work/damaged" \
     2>/dev/null | grep -c '"lost":0,"truncated":false,"rank":1')" -eq 1 ] ||
    fail "a whole trace is said to be damaged"
text=$("$command" replay --policy lru "$work/damaged" 2>/dev/null)
for pattern in '7 events were lost' 'its end is missing'; do
    [ "$(echo "$text" | grep -c "$pattern")" -eq 1 ] || fail "no '$pattern'"
done

# Periodic programs, as docs/evaluation.md has them: predict is within 1.25
# times the byte-seconds of any schedule, and finds 95 of 100 buffers registered
near_clairvoyant()
{
    make near "$@"
    "$command" replay --json --policy predict,clairvoyant "$work/near.trace" |
        awk -v program="$*" '
            function value(name) {
                match($0, "\"" name "\":[0-9.]+")
                return substr($0, RSTART + length(name) + 3) + 0
            }
            /"policy":"predict"/     { predict = value("byte_seconds")
                                       hits    = value("hits") / value("uses") }
            /"policy":"clairvoyant"/ { ratio = predict / value("byte_seconds") }
            END { printf "%s: %.2f times clairvoyant, %.1f %% hits\n", program,
                         ratio, 100 * hits
                  exit !(ratio >= 1 && ratio <= 1.25 && hits >= 0.95) }' ||
        fail "$*: predict is far from clairvoyant"
}

near_clairvoyant pattern=periodic period=100000 lasting=2000 uses=50
near_clairvoyant pattern=periodic period=20000 lasting=500 uses=200
near_clairvoyant pattern=periodic period=2000 lasting=300 uses=1000
near_clairvoyant pattern=two-buffers period=10000 lasting=2000
near_clairvoyant pattern=nested period=10000 lasting=2000
near_clairvoyant pattern=drift period=10000 lasting=2000

# Parts of an array at random places, several of which are in use at any time, so that
# they overlap: hardly more than if all of it was registered once and for all
near_pinned()
{
    local shared=
    make parts pattern=parts uses=20000 "$@"
    for shared in "" --shared-processor; do
        "$command" replay --json --policy predict,leave-pinned $shared \
            --reg-cost 16000,250 --dereg-cost 16000,0 "$work/parts.trace" |
            awk -v program="$* $shared" '
                function value(name) {
                    match($0, "\"" name "\":[0-9.]+")
                    return substr($0, RSTART + length(name) + 3) + 0
                }
                /"policy":"predict"/      { predict = value("byte_seconds") }
                /"policy":"leave-pinned"/ { pinned  = value("byte_seconds") }
                END { printf "%s: %.3f times leave-pinned\n", program,
                             predict / pinned
                      exit !(predict > 0 && predict <= 1.1 * pinned) }' ||
            fail "$* $shared: predict is above leave-pinned"
    done
}

near_pinned array=262144 bytes=131072 period=100 lasting=500
near_pinned array=524288 bytes=65536 period=100 lasting=600

refused 2 'missing; accepted: folders'
refused 2 "'fast'; accepted: predict, on-demand" --policy fast "$trace"
refused 2 'only arena.*, lru.*, regions.* have a limit' --policy predict=3 "$trace"
refused 2 "'lru=0'; accepted: a number from 1" --policy lru=0 "$trace"
refused 2 "'lru=-1'; accepted" --policy lru=-1 "$trace"
refused 2 "'lru' is given twice" --policy lru=8192,lru=4096 "$trace"
refused 2 "'predict' is given twice" --policy predict --policy predict "$trace"
refused 2 "''; accepted: predict" --policy predict, "$trace"
refused 2 "'HISTORY'; accepted: KNOB=VALUE" --set HISTORY "$trace"
refused 2 'HISTORY=99 is not accepted; accepted: whole numbers from 1 to 16' \
    --set HISTORY=99 "$trace"
refused 2 'HELPER=none is not accepted' --set UCX_RCACHE_PRED_HELPER=none "$trace"
refused 2 'POLICY is said by --policy' --set POLICY=predict "$trace"
refused 2 'WINDOW is part of what was recorded.*record with --set WINDOW=' --set window=1 "$trace"
refused 2 'NODE_MAX_PINNED .* --ranks of a larger' --set NODE_MAX_PINNED=1g --ranks 8 "$trace"
refused 1 'NODE_MAX_PINNED=256K has no room for this process' --set NODE_MAX_PINNED=256K "$work"
refused 2 "there is no knob 'COLOUR'; accepted in a replay: HELPER" \
    --set COLOUR=red "$trace"
refused 2 'accepted is one of the two' --curve --ranks 8 "$trace"
refused 2 'BUDGET=much is not accepted' --curve --set BUDGET=much "$trace"
refused 2 "--reg-cost: 'much'; accepted: OP,PAGE" --reg-cost much "$trace"
refused 2 "--dereg-cost: '-1,0'; accepted" --dereg-cost=-1,0 "$trace"
refused 2 'replay --help lists what is accepted' --frobnicate "$trace"
refused 1 'No such file' "$work/none"
echo 'nonsense' > "$work/bad"
refused 1 "$work/bad" "$work/bad"
printf 'ucx_predreg trace 1\nbegin 1 0x1000 0xffffffffffff0000\nend 2 0x1000\n' \
    > "$work/bad"
refused 1 'event 1, .* beyond the end of the address space' "$work/bad"
printf 'ucx_predreg trace 1\nbegin 1 0x1000 4096 id=1\nbegin 2 0x1000 0 id=2\n' \
    > "$work/bad"
refused 1 'line 3: a length of 0: expected 1 or more' "$work/bad"
"$command" replay --help | grep -q -- '--per-rank' || fail "--help"

[ $errors -eq 0 ]
