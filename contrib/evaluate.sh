#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Remakes the evaluation of Li et al., CF'11, in shape: the same kinds of
# programs under the same policies, on two processors. See docs/evaluation.md.

set -eu
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"
quick=
apps=$build/test/apps
# shellcheck source=contrib/lib/cases.sh
. "$top/contrib/lib/cases.sh"

usage()
{
    cat <<USAGE
usage: evaluate.sh [options] [PART...]

PART is one of ${parts_all[*]}, or all (the default).

  --quick     fewer cases and iterations
  --reps N    repetitions, 1 to 20 (1); those that do not fit the time are left
              out
  --budget S  seconds that the runs may take, 60 to 86400 (1620; 330 with
              --quick)
  --native    run here, whatever RDMA device is here (default: boot a guest with
              Soft-RoCE if there is none)
  --out DIR   a new folder for the results (results/evaluation-DATE)

Prints a table in markdown for each part. Writes into the folder: tables.md,
results.csv (a line for each run), and for each size of guest a folder with
raw/, the samples and summaries of each run. Exit status: 0; 1 if a run failed
or was left out; 77 if there is no RDMA device and no way to boot a guest.
USAGE
}

# range OPTION VALUE MIN MAX: ends the script unless the value is in the range
range()
{
    [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
        die "$1: '$2'; accepted: $3 to $4"
}

native=()
reps=1
budget=
out=$top/results/evaluation-$(date +%Y%m%d-%H%M%S)
parts=()
while [ $# -gt 0 ]; do
    case $1 in
    --quick)   quick=1 ;;
    --native)  native=(--native) ;;
    --reps)    reps=${2-}; range --reps "$reps" 1 20; shift ;;
    --budget)  budget=${2-}; range --budget "$budget" 60 86400; shift ;;
    --out)     out=${2-}; shift ;;
    --help|-h) usage; exit 0 ;;
    all)       parts+=("${parts_all[@]}") ;;
    *)         part_of "$1" || {
                   usage >&2
                   die "unknown argument '$1'; accepted are the above"
               }
               parts+=("$1") ;;
    esac
    [ $# -gt 0 ] || die "the last option needs a value; see --help"
    shift
done
[ ${#parts[@]} -gt 0 ] || parts=("${parts_all[@]}")
[ -n "$budget" ] || budget=$([ -n "$quick" ] && echo 330 || echo 1620)
[ -n "$out" ] || die "--out: ''; accepted: the name of a folder"
{ mkdir -p "$out" && [ -w "$out" ]; } 2>/dev/null ||
    die "cannot write to '$out'; accepted: a folder that can be written to" \
        "(--out DIR)"
out=$(cd "$out" && pwd)
[ ! -e "$out/results.csv" ] ||
    die "'$out' has results already; accepted: a new folder"

# runs_of CPUS: prints CASE:VARIANT, each once, for all parts that need a guest
# with so many processors
runs_of()
{
    local part name variant
    for part in "${parts[@]}"; do
        part_of "$part"
        [ "$cpus" -eq "$1" ] || continue
        for name in "${cases[@]}"; do
            for variant in "${variants[@]}"; do
                echo "$name:$variant"
            done
        done
    done | awk '!seen[$0]++'
}

# Prints how many processors each guest has to have
guests()
{
    local part
    for part in "${parts[@]}"; do
        part_of "$part"
        echo "$cpus"
    done | sort -nu
}

# show_progress DIR RUNS: says what evaluate-guest.sh is doing, from its lines
show_progress()
{
    local word count=0
    while read -ra word; do
        case ${word[0]-} in
        run)     # CASE VARIANT REP
                 count=$((count + 1))
                 say "$((SECONDS - begin)) s, run $count of $2:" \
                     "${word[*]:1:2}" ;;
        failed)  # CASE VARIANT REP WHY
                 say "${word[1]} ${word[2]} failed (${word[*]:4}); see" \
                     "$1/raw/${word[1]}.${word[2]}.${word[3]}.out" ;;
        skipped) # CASE REP
                 say "no time for repetition ${word[2]} of ${word[1]}" ;;
        *)       echo "${word[*]-}" ;;
        esac
    done
}

# run_guest CPUS: all runs that need so many processors, in one boot
run_guest()
{
    local runs dir=$out/$1-processors seconds status
    mapfile -t runs < <(runs_of "$1")
    seconds=$((budget * ${#runs[@]} * reps / total_runs))
    mkdir -p "$dir"
    : > "$dir/runs"
    set +e
    "$top/test/rig/run.sh" "${native[@]+"${native[@]}"}" --cpus "$1" \
        --out "$dir" --timeout $((seconds + 180)) -- \
        "$top/contrib/lib/evaluate-guest.sh" "$build" "$dir" "$reps" \
        "$seconds" "$quick" "${runs[@]}" |
        show_progress "$dir" $((${#runs[@]} * reps))
    status=${PIPESTATUS[0]}
    set -e
    case $status in
    0)  ;;
    1)  failed=1 ;;
    77) exit 77 ;;
    *)  failed=1
        say "the runs on $1 processors did not end properly (status $status)"
    esac
    [ "$(wc -l < "$dir/runs")" -eq $((${#runs[@]} * reps)) ] || failed=1
}

report()
{
    local part kind where
    for part in "${parts[@]}"; do
        part_of "$part"
        kind=policies
        case $part in fig5|fig6) kind=errors ;; esac
        where="an emulated guest of $cpus processors, Soft-RoCE"
        [ ${#native[@]} -eq 0 ] || where="the processors of $(uname -n)"
        printf '### %s\n\n' "$title"
        tables $kind "$out/$cpus-processors" "${cases[*]}" "${variants[*]}"
        printf '\nOn %s. The paper: %s.\n\n' "$where" "$paper"
    done
    busy_note "$load"
}

prepare_runs "$out/install.log"

begin=$SECONDS
failed=0
total_runs=0
for guest in $(guests); do
    total_runs=$((total_runs + $(runs_of "$guest" | wc -l) * reps))
done

for guest in $(guests); do
    run_guest "$guest"
done

{
    echo "processors,case,variant,rep,loop_s,communication_s,average_mib,$(
        )peak_mib,uses,hits,error_0.5,error_1,error_5,error_10,error_25,$(
        )error_more"
    for guest in $(guests); do
        tables results "$out/$guest-processors" "$guest"
    done
} > "$out/results.csv"
report > "$out/tables.md"
cat "$out/tables.md"
say "tables: $out/tables.md, runs: $out/results.csv;" \
    "took $((SECONDS - begin)) s"
exit $failed
