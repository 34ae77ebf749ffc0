#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Measures Firehose beside what it is an alternative to, see
# docs/benchmarks.md. To be started where memory gets registered:
#
#   test/rig/run.sh --cma -- contrib/lib/firehose.sh [OPTION...] BUILD OUT
#
#   -r N       rounds (5). In each, all variants of a case take turns, so that
#              whatever slows the machine down for a while slows all of them
#              down; their order is random
#   -p PARTS   within puts gets pages gups fair kernels hits moves windows (all)
#   -q         few operations, to see whether it works, or in a guest
#
# Writes OUT/PART.json, a line for each run: its case, variant and round, and what
# the program printed. Prints a table for each part: medians over the rounds, the
# smallest and the largest value, and the median of the ratios to the first
# variant of the case in the same round. Exit status: 1 if a run failed.

set -eu
export LC_ALL=C
# The programs fork once UCX is loaded: see docs/coexistence.md
export UCX_VFS_ENABLE=n

rounds=5
parts="within puts gets pages gups fair kernels hits moves windows"
quick=
while getopts r:p:q option; do
    case $option in
    r) rounds=$OPTARG ;;
    p) parts=$OPTARG ;;
    q) quick=1 ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
build=$(cd "$1" && pwd)
apps=$build/test/apps
out=$2
mkdir -p "$out"
failures=0

# Seconds after which a run is taken to hang
limit=200

# few FULL QUICK: the number for this run
few()
{
    if [ -n "$quick" ]; then
        echo "$2"
    else
        echo "$1"
    fi
}

# bandwidth SETS OPTION...: with these working sets; M is 8 MiB a peer, and
# MAXVICTIM 2 MiB
bandwidth()
{
    local set ops i
    ops=$(few 3000 60)
    for set in $1; do
        variant "$set" pinned "$apps/fhputs" --scheme pinned
        variant "$set" firehose "$apps/fhputs"
        variant "$set" firehose-64k "$apps/fhputs" --bucket 64k
        variant "$set" firehose-4k "$apps/fhputs" --bucket 4k
        variant "$set" keep "$apps/fhputs" --scheme rendezvous --keep
        variant "$set" unpin "$apps/fhputs" --scheme rendezvous
    done
    shift
    add --share 8m --maxvictim 2m --ops "$ops" "$@"
    # The case is the working set
    for i in "${!cases[@]}"; do
        commands[i]+=" --set ${cases[i]}"
    done
}

# variant CASE NAME COMMAND...: one of those that take turns
variant()
{
    cases+=("$1")
    variants+=("$2")
    shift 2
    commands+=("$*")
}

# windows CASE OPTION...: puts of an MPI program, pinned twice, see within; M is 256
# MiB, or 16, and MAXVICTIM then 2
windows()
{
    local name=$1 predreg="$build/src/tools/predreg/ucx_predreg run"
    local firehose="$predreg --set WINDOWS=firehose" command
    local small="--set FIREHOSE_M=16m --set FIREHOSE_MAXVICTIM=2m"
    shift
    command="-- mpirun -np 2 $apps/winputs --ops $(few 5000 20) $*"
    variant "$name" pinned "$predreg $command"
    variant "$name" again "$predreg $command"
    variant "$name" firehose "$firehose $command"
    variant "$name" m16m "$firehose $small $command"
}

# add OPTION...: to all of them
add()
{
    local i
    for i in "${!commands[@]}"; do
        commands[i]+=" $*"
    done
}

# Sets cases, variants, commands, and metrics: what is compared
part_of()
{
    local i ops
    cases=()
    variants=()
    commands=()
    case $1 in
    within)
        # What is pinned is measured twice: how far the two differ is noise
        metrics="mbps cpu_us"
        for i in 4m 8m; do
            variant $i pinned "$apps/fhputs" --scheme pinned --set $i
            variant $i again "$apps/fhputs" --scheme pinned --set $i
            variant $i firehose "$apps/fhputs" --set $i
            variant $i firehose-64k "$apps/fhputs" --bucket 64k --set $i
        done
        add --share 8m --maxvictim 2m --ops "$(few 20000 60)" ;;
    puts)
        metrics="mbps cpu_us"
        bandwidth "4m 8m 9m 10m 12m 16m 32m" ;;
    gets)
        metrics="mbps cpu_us"
        bandwidth "8m 12m 16m" --gets ;;
    pages)
        metrics="mbps cpu_us"
        bandwidth "8m 12m 16m" --align 4k --warm "$(few 2000 20)" ;;
    gups)
        metrics="misses updates_per_s"
        for i in 2m 3m 4m 8m; do
            variant $i apart "$apps/fhgups" --apart --table $i
            variant $i shared "$apps/fhgups" --table $i
        done
        add --share 2m --maxvictim 512k --updates "$(few 20000 200)" ;;
    fair)
        metrics="slowest fastest mbps"
        for i in 1 2 4 8; do
            variant $i puts "$apps/fhfair" --threads $i
            variant $i pins "$apps/fhfair" --pins --threads $i
        done
        add --ms "$(few 1000 500)" ;;
    kernels)
        metrics="one_sided seconds"
        ops=$(few 400 3)
        variant cannon puts-4k "$apps/fhcannon"
        variant cannon puts "$apps/fhcannon" --bucket 0
        variant cannon gets-4k "$apps/fhcannon" --gets
        variant cannon gets "$apps/fhcannon" --gets --bucket 0
        variant sort puts-4k "$apps/fhsort"
        variant sort puts "$apps/fhsort" --bucket 0
        add --iters "$ops" ;;
    hits)
        metrics="put_ns ucp_put_ns pin_ns"
        variant hits puts "$apps/fhhits"
        [ -z "$quick" ] || add --ops 100 --rounds 3 ;;
    moves)
        metrics=answers_per_s
        for i in 1 2 3; do
            variant $i gets "$apps/fhmoves" --procs $((i + 1))
        done
        add --ms "$(few 1000 500)" ;;
    windows)
        metrics="mbps us"
        for i in 4m 8m 32m; do
            windows "64k-$i" --size 64k --set $i
        done
        for i in 8m 32m; do
            windows "8-$i" --size 8 --set $i --ops "$(few 20000 60)" --flush 64
        done ;;
    *)
        echo "firehose.sh: -p: '$1'; accepted are within, puts, gets, pages," \
             "gups, fair, kernels, hits, moves and windows" >&2
        exit 2 ;;
    esac
}

# run PART NUMBER ROUND: one of the commands
run()
{
    local said line status=0
    # shellcheck disable=SC2086 # a command and its options, without spaces in them
    said=$(timeout --foreground $limit ${commands[$2]}) || status=$?
    # UCX logs to the standard output as well
    line=$(sed -n '/^{/p' <<< "$said")
    if [ $status -ne 0 ] || [ -z "$line" ]; then
        echo "failed, status $status: ${commands[$2]}" >&2
        failures=$((failures + 1))
        return 0
    fi
    printf '{"case":"%s","variant":"%s","round":%d,"command":"%s",%s\n' \
        "${cases[$2]}" "${variants[$2]}" "$3" "${commands[$2]#"$apps/"}" \
        "${line#\{}" >> "$out/$1.json"
}

# run_part PART
run_part()
{
    local round i first num
    : > "$out/$1.json"
    for ((round = 0; round < rounds; ++round)); do
        # All variants of a case one after the other, in a random order: the kernel
        # still unpins what a process had while the next one begins, and that
        # should not always be the same
        for ((first = 0; first < ${#cases[@]}; first += num)); do
            num=1
            while [ "${cases[first + num]-}" = "${cases[first]}" ]; do
                num=$((num + 1))
            done
            for i in $(shuf -i "$first-$((first + num - 1))"); do
                run "$1" "$i" $round
            done
        done
    done
}

# table PART: of all that was measured
table()
{
    local i listed=
    for i in "${!cases[@]}"; do
        listed+="${cases[i]} ${variants[i]} "
    done
    awk -v part="$1" -v metrics="$metrics" -v listed="$listed" '
        # What follows a name in the line, up to the end of the value
        function value_of(name, pattern) {
            if (!match($0, "\"" name "\":" pattern)) return ""
            return substr($0, RSTART + length(name) + 3,
                          RLENGTH - length(name) - 3)
        }
        function text(name) {
            return substr(value_of(name, "\"[^\"]*"), 2)
        }
        function number(name) {
            if (name == "misses") return number("requests") - number("hits")
            if (name == "one_sided") {
                return 100 * number("hits") / number("requests")
            }
            return value_of(name, "[0-9.]+") + 0
        }
        # Sorts values[1..n], and returns the median
        function median(values, n,    i, j, x) {
            for (i = 2; i <= n; ++i) {
                x = values[i]
                for (j = i - 1; j > 0 && values[j] > x; --j) {
                    values[j + 1] = values[j]
                }
                values[j + 1] = x
            }
            return (values[int((n + 1) / 2)] + values[int(n / 2) + 1]) / 2
        }
        BEGIN {
            num_metrics = split(metrics, names, " ")
            n           = split(listed, part_of, " ")
            for (i = 1; i < n; i += 2) {
                key          = part_of[i] SUBSEP part_of[i + 1]
                order[++num] = key
                if (!(part_of[i] in first)) first[part_of[i]] = key
            }
        }
        {
            key   = text("case") SUBSEP text("variant")
            round = number("round")
            rounds[round] = 1
            seen[key]     = 1
            for (m = 1; m <= num_metrics; ++m) {
                value[key, round, m] = number(names[m])
            }
        }
        END {
            printf "\n| %s | variant |", part
            for (m = 1; m <= num_metrics; ++m) {
                printf " %s | from | to | ratio |", names[m]
            }
            printf "\n|---|---|"
            for (m = 1; m <= num_metrics; ++m) printf "--:|--:|--:|--:|"
            print ""
            for (i = 1; i <= num; ++i) {
                key = order[i]
                if (!(key in seen)) continue # Each run of it has failed
                split(key, part_of, SUBSEP)
                printf "| %s | %s |", part_of[1], part_of[2]
                for (m = 1; m <= num_metrics; ++m) {
                    n = k = 0
                    for (round in rounds) {
                        if (!((key, round, m) in value)) continue
                        all[++n] = value[key, round, m]
                        base = value[first[part_of[1]], round, m] + 0
                        if (base > 0) ratios[++k] = all[n] / base
                    }
                    middle = median(all, n)
                    ratio  = k ? sprintf("%.3f", median(ratios, k)) : "-"
                    printf " %.5g | %.5g | %.5g | %s |", middle, all[1], all[n], ratio
                }
                print ""
            }
        }' "$out/$1.json"
}

for part in $parts; do
    part_of "$part"
    run_part "$part"
    table "$part"
done

exit $((failures > 0))
