#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Takes the advice of reports: records programs, runs them as the report advises and under
# other settings, and puts what was promised beside what was measured. Started by
# evaluate.sh --advice and by test/native/suite.sh, in the native rig.
#
#   advice.sh --draw N               prints N programs, drawn by the hash of the sources of
#                                    replay and report
#   advice.sh [OPTION...] BUILD OUT PROGRAM...
#                                    appends what was measured to OUT/advice
#   advice.sh --table OUT            prints OUT/advice as a table, with the marks
#   advice.sh --check OUT ERROR      fails unless all memory in OUT/advice is as promised, but
#                                    for ERROR, a part of that of leave-pinned
#
#   -r N     repetitions (3)
#   -w WORK  how much work programs take for a millisecond (found out)
#   -m       memory alone: what the report advises, beside UCX as it is, once
#
# The settings of a program take turns, and another one begins in each repetition. A line
# of OUT/advice: PROGRAM SETTING REP BYTES SECONDS, with the mean of the ranks' average
# memory and the time of the slowest rank; of SETTING "promised", BYTES and SECONDS are
# those of the replay as parts of leave-pinned's, and the advice follows.

set -eu
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# A line for each program: NAME RANKS COMMAND. MS N stands for computation and iterations
# for a run of two seconds or so
programs='
halo 2 slices --kind faces:6 --size 3m MS 12 N 120
panels 2 slices --kind panels MS 50 N 30
segments 2 slices --kind segments MS 20 N 60
parts 2 slices --kind parts MS 20 N 60
phases 2 irregular --pattern phases MS 20 N 150
alternating 2 irregular --pattern alternating MS 10 N 60
random 2 irregular --pattern random MS 20 N 90
burst 2 irregular --pattern burst MS 20 N 120
drift 2 irregular --pattern drift MS 5 N 60
fig1 2 fig1 MS 20 N 60
fig1short 2 fig1 MS 8 N 120
fig1new 2 fig1 --no-reuse MS 20 N 30
alone 1 fig1 MS 20 N 60
cg 2 cg MS 20 N 60
is 2 is MS 20 N 60
mg 2 mg MS 20 N 60
ft 2 ft MS 20 N 60
wavefront 2 wavefront MS 20 N 60
manybuf 2 manybuf --size 2m MS 20 N 10
allreduce 2 temporaries --pattern allreduce --size 4m --iters 250
reduce 2 temporaries --pattern reduce --size 4m --iters 200
exchange 2 temporaries --pattern exchange --iters 150
transpose 2 transpose --n 2048 --iters 10
'

# The hash of the sources of replay and report: a commit that changes what they say draws
# other programs, and no other commit does
frozen()
{
    (cd "$top" && find src/tools/replay src/tools/report -name '*.[ch]' -print0 | sort -z |
        xargs -0 sha256sum | sha256sum | cut -c 1-16)
}

draw()
{
    local state name
    state=$(frozen)
    awk 'NF { print $1 }' <<< "$programs" | while read -r name; do
        echo "$(sha256sum <<< "$state $name") $name"
    done | sort | awk -v n="$1" 'NR <= n { print $NF }'
}

# What awk programs below read of OUT/advice
# shellcheck disable=SC2016
read_advice='
    function median(values, n,    i, k, x) {
        for (i = 2; i <= n; ++i) {
            x = values[i]
            for (k = i - 1; k > 0 && values[k] > x; --k) values[k + 1] = values[k]
            values[k + 1] = x
        }
        return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
    }
    function of(what, name, setting,    i, values) {
        for (i = 1; i <= num[name, setting]; ++i)
            values[i] = (what == "bytes") ? bytes[name, setting, i] : secs[name, setting, i]
        return median(values, num[name, setting])
    }
    $2 == "promised" {
        names[++num_names] = $1
        memory[$1] = $4; time[$1] = $5; text[$1] = $6
        for (i = 7; i <= NF; ++i) text[$1] = text[$1] " " $i
        next
    }
    { i = ++num[$1, $2]; bytes[$1, $2, i] = $4; secs[$1, $2, i] = $5 }'

table()
{
    echo "| program | advice | memory: promised | measured | error | time: promised |" \
        "measured | leave-pinned's spread | on-demand | BUDGET=1 | 5 | inf | marks missed |"
    echo "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"
    awk "$read_advice"'
        function part(setting) {
            return of("bytes", name, setting) / of("bytes", name, "stock")
        }
        function longer(setting) {
            return of("secs", name, setting) / of("secs", name, "stock")
        }
        END {
            for (i = 1; i <= num_names; ++i) {
                name = names[i]
                low = high = secs[name, "stock", 1]
                for (k = 2; k <= num[name, "stock"]; ++k) {
                    s = secs[name, "stock", k]
                    if (s < low) low = s
                    if (s > high) high = s
                }
                spread = (high - low) / of("secs", name, "stock")
                error  = part("advised") - memory[name]
                late   = longer("advised") - time[name]
                best   = 0
                n = split("advised on-demand budget-1 budget-5 budget-inf", settings, " ")
                row = ""
                for (k = 1; k <= n; ++k) {
                    if (longer(settings[k]) <= 1.01 + spread && 1 - part(settings[k]) > best)
                        best = 1 - part(settings[k])
                    if (k > 1)
                        row = row sprintf(" %.2f, %.3f |", part(settings[k]),
                                          longer(settings[k]))
                }
                missed = ""
                if (error > .15 || error < -.15) missed = "memory"
                if (late > .02 + spread || late < -.02 - spread)
                    missed = missed (missed == "" ? "" : ", ") "time"
                if (best > .02 && 1 - part("advised") < .8 * best)
                    missed = missed (missed == "" ? "" : ", ") "advice"
                count += (missed == "")
                printf "| %s | %s | %.2f | %.2f | %+.2f | %.3f | %.3f | %.3f |%s %s |\n", \
                    name, text[name], memory[name], part("advised"), error, time[name],
                    longer("advised"), spread, row, missed
            }
            printf "\n%d of %d programs are within all marks.\n", count, num_names
        }' "$1/advice"
}

# check OUT ERROR: fails if a program has other memory than promised
check()
{
    awk -v most="$2" "$read_advice"'
        END {
            for (i = 1; i <= num_names; ++i) {
                name = names[i]
                part = of("bytes", name, "advised") / of("bytes", name, "stock")
                printf "%s: %s: %.2f of the memory, promised %.2f\n", name, text[name], part,
                    memory[name]
                bad += (part > memory[name] + most || part < memory[name] - most)
            }
            exit (num_names == 0 || bad > 0)
        }' "$1/advice"
}

# Sets ranks and command of a program
program_of()
{
    local line
    line=$(awk -v name="$1" '$1 == name { $1 = ""; print }' <<< "$programs")
    [ -n "$line" ] || { echo "no program is called '$1'" >&2; exit 2; }
    line=${line/ MS / --work-per-ms $work --json --compute }
    read -r ranks line <<< "${line/ N / --iters }"
    read -ra command <<< "$apps/$line"
}

# measure NAME SETTING REP COMMAND...: runs a program, and writes what the rig has counted
measure()
{
    local stat=$out/$1.$2.$3.stat
    rm -f "$stat"
    NATIVE_STAT=$stat timeout --foreground -k 5 100 "${@:4}" > "$out/$1.$2.$3.out" 2>&1 || {
        cat "$out/$1.$2.$3.out"
        echo "$1 under $2 failed"
        return 1
    }
    awk -v name="$1" -v setting="$2" -v rep="$3" '
        function value(field) {
            if (!match($0, "\"" field "\":[0-9.]+")) return 0
            return substr($0, RSTART + length(field) + 3, RLENGTH - length(field) - 3) + 0
        }
        FILENAME ~ /out$/ { if (value("loop_s") > 0) loop = value("loop_s"); next }
        value("uses") > 0 {
            ++n
            sum += value("pinned_average_bytes")
            if (value("seconds") > longest) longest = value("seconds")
        }
        END { print name, setting, rep, sum / n, (loop > 0) ? loop : longest }' \
        "$out/$1.$2.$3.out" "$stat" >> "$out/advice"
}

# field NAME TEXT: the value of a field of JSON, where it comes first in the text
field()
{
    sed "s/.*\"$1\":\"\{0,1\}//; s/[\",}].*//" <<< "$2"
}

# Sets advised, what is put before a launcher by the advice of a report, and promise, the
# line for OUT/advice
read_report()
{
    local name=$1 best=${2#*\"best\":} pinned=${2#*\"policies\":{\"leave-pinned\":} setting budget
    local bound
    best=${best%%\"causes\"*}
    pinned=${pinned%%\"causes\"*}
    setting=$(field setting "$best")
    advised=()
    case $setting in
    predict)   budget=$(field budget "$best")
               advised=("$predreg" run)
               if [ "$budget" != null ]; then
                   advised+=(--set "BUDGET=$budget")
                   setting="BUDGET=$budget"
               fi
               advised+=(--) ;;
    on-demand) advised=("$predreg" run --policy on-demand --) ;;
    bound)     bound=$(field bound_bytes "$best")
               advised=(env UCX_RCACHE_ENABLE=n "UCX_CMA_RCACHE_MAX_SIZE=$bound")
               setting="bound of $((bound >> 20)) MiB" ;;
    esac
    promise=$(awk -v best="$(field pinned_avg_bytes "$best")" \
        -v pinned="$(field pinned_avg_bytes "$pinned")" \
        -v extra="$(field extra_time "$best")" -v text="$name promised 0" \
        -v setting="$setting" \
        'BEGIN { print text, best / pinned, 1 + extra, setting }')
}

# run_setting NAME SETTING REP
run_setting()
{
    local ours=()
    case $2 in
    stock)     ;;
    advised)   ours=("${advised[@]}") ;;
    on-demand) ours=("$predreg" run --policy on-demand --) ;;
    budget-*)  ours=("$predreg" run --set "BUDGET=${2#*-}" --) ;;
    esac
    measure "$1" "$2" "$3" "${ours[@]}" mpirun -np "$ranks" "${command[@]}"
}

take()
{
    local name=$1 settings rep i traces=$out/$1.traces report promise advised
    program_of "$name"
    rm -rf "$traces"
    "$predreg" record -o "$traces" --policy on-demand -- mpirun -np "$ranks" \
        "${command[@]}" > "$out/$name.out" 2>&1 || { cat "$out/$name.out"; return 1; }
    report=$("$predreg" report --json "$traces")
    read_report "$name" "$report"
    echo "$promise" >> "$out/advice"
    settings=(stock advised)
    [ -n "$only_memory" ] || settings+=(on-demand budget-1 budget-5 budget-inf)
    for ((rep = 1; rep <= reps; ++rep)); do
        for ((i = 0; i < ${#settings[@]}; ++i)); do
            run_setting "$name" "${settings[(i + rep) % ${#settings[@]}]}" $rep
        done
    done
}

case ${1-} in
--draw)  draw "$2"; exit ;;
--table) table "$2"; exit ;;
--check) check "$2" "$3"; exit ;;
esac

reps=3
work=
only_memory=
while getopts r:w:m option; do
    case $option in
    r) reps=$OPTARG ;;
    w) work=$OPTARG ;;
    m) only_memory=1; reps=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
apps=$(cd "$1/test/apps" && pwd)
predreg=$(cd "$1/src/tools/predreg" && pwd)/ucx_predreg
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
[ -n "$work" ] ||
    work=$(mpirun -np 2 "$apps/fig1" --iters 0 --compute 1 --json |
        sed -n 's/.*"work_per_ms":\([0-9]*\).*/\1/p')
for name; do
    echo "$name"
    take "$name"
done
