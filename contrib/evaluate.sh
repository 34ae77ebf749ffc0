#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Remakes the evaluation of Li et al., CF'11: the same kinds of programs under
# the same policies, with time. See docs/evaluation.md.

set -eu
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"
# shellcheck source=contrib/lib/measure.sh
. "$top/contrib/lib/measure.sh"
quick=
# shellcheck source=contrib/lib/cases.sh
. "$top/contrib/lib/cases.sh"

usage()
{
    cat <<USAGE
usage: evaluate.sh [options] [PART...]

PART is one of
  ${parts_all[*]}
or all (the default, unless --program or --advice is given). All but verbs run in the native
rig; verbs needs an RDMA device, or boots a guest with Soft-RoCE if there is none.

  --quick            fewer cases and iterations, and 1 repetition
  --repetitions N    1 to 20 (5); in a guest 1
  --budget S         seconds that the runs may take, 60 to 86400; repetitions
                     that do not fit are left out (default: no limit)
  --work-per-ms N    how much work programs take for a millisecond (found out)
  --program NAME=COMMAND
                     a program of yours as well, natively, 2 ranks: COMMAND is
                     what mpirun would be given, with whole paths; NAME has small
                     letters and digits. Can be given several times
  --advice N         before these parts, take the advice that reports give for N
                     programs, 1 to 23, drawn by the hash of the sources of
                     replay and report: record, report, run as advised
  --out DIR          a new folder for the results (results/evaluation-DATE)
  --list             print the parts, how many runs each has and about how many
                     minutes they take, and do nothing

Writes into the folder: advice.md, the table of --advice, and advice/, what it was
made of; evaluation.md, the tables with date, machine and command;
results.csv, a line for each run; and for each rig a folder with the samples,
statistics and summaries of each run in raw/. Exit status: 0; 1 if a run failed
or was left out; 77 if nothing could be run here.
USAGE
}

reps=
budget=0
work=
list=
advice=
programs=()
out=$top/results/evaluation-$(date +%Y%m%d-%H%M%S)
parts=()
# What a reader would type to get the same
command_line=contrib/evaluate.sh
while [ $# -gt 0 ]; do
    option=$1
    case $1 in
    --quick)       quick=1 ;;
    --repetitions|--reps)
                   reps=${2-}; range "$1" "$reps" 1 20; shift ;;
    --budget)      budget=${2-}; range "$1" "$budget" 60 86400; shift ;;
    --work-per-ms) work=${2-}; range "$1" "$work" 1 99999999; shift ;;
    --program)     own_program "${2-}" ||
                       die "--program: '${2-}'; accepted: NAME=COMMAND, NAME of" \
                           "small letters and digits, and none of ours"
                   programs+=(-p "$2"); shift ;;
    --advice)      advice=${2-}; range "$1" "$advice" 1 23; shift ;;
    --out)         out=${2-}; shift ;;
    --list)        list=1 ;;
    --help|-h)     usage; exit 0 ;;
    all)           parts+=("${parts_all[@]}") ;;
    *)             [[ " ${parts_all[*]} " = *" $1 "* ]] || {
                       usage >&2
                       die "unknown argument '$1'; accepted are the above"
                   }
                   parts+=("$1") ;;
    esac
    [ $# -gt 0 ] || die "the last option needs a value; see --help"
    case $option in
    --out) ;;
    "$1")  command_line+=" $1" ;;
    *)     command_line+=" $option $(printf '%q' "$1")" ;;
    esac
    shift
done
if [ ${#parts[@]} -eq 0 ] && [ ${#programs[@]} -eq 0 ] && [ -z "$advice" ]; then
    parts=("${parts_all[@]}")
fi
[ ${#programs[@]} -eq 0 ] || parts+=(own)
[ -n "$reps" ] || reps=$([ -n "$quick" ] && echo 1 || echo 5)

# runs_of RIG PART...: prints CASE:VARIANT, each once, for all these parts
runs_of()
{
    local rig=$1 part name variant
    shift
    for part in "$@"; do
        part_of "$part"
        [[ " ${rigs[*]} " = *" $rig "* ]] || continue
        for name in "${cases[@]}"; do
            for variant in "${variants[@]}"; do
                echo "$name:$variant"
            done
        done
    done | awk '!seen[$0]++'
}

# Prints the rigs of parts, each once
rigs_of()
{
    local part
    for part in "$@"; do
        part_of "$part"
        printf '%s\n' "${rigs[@]}"
    done | awk '!seen[$0]++'
}

# seconds_of RIG PART...: about how long these take in a rig
seconds_of()
{
    local rig=$1 seconds=3
    shift
    [ "$rig" != verbs ] || seconds=12
    [ -z "$quick" ] || seconds=$((seconds * 3 / 4))
    echo $((seconds * $(reps_of "$rig") * $(runs_of "$rig" "$@" | wc -l)))
}

# total_seconds PART...
total_seconds()
{
    local rig total=0
    for rig in $(rigs_of "$@"); do
        total=$((total + $(seconds_of "$rig" "$@")))
    done
    echo $total
}

# take_advice: the programs of --advice, in the native rig; prints the table
take_advice()
{
    local names=()
    mapfile -t names < <("$top/contrib/lib/advice.sh" --draw "$advice")
    options_of "$rig_usual"
    say "the advice of reports for ${names[*]}: about $((advice * 45 / 60 + 1)) min"
    "$top/test/rig/run.sh" "${options[@]}" --build "$build" --timeout 86400 -- \
        "$top/contrib/lib/advice.sh" -r "$([ -n "$quick" ] && echo 1 || echo 3)" \
        ${work:+-w "$work"} "$build" "$out/advice" "${names[@]}" || failed=1
    {   where_and_when $((SECONDS - begin))
        busy_note "$load"
        "$top/contrib/lib/advice.sh" --table "$out/advice"
    } > "$out/advice.md"
    cat "$out/advice.md"
}

# What the kernel counts in a guest needs no repetition
reps_of()
{
    if [ "$1" = verbs ]; then
        echo 1
    else
        echo "$reps"
    fi
}

list_parts()
{
    local part runs
    for part in "${parts[@]}"; do
        runs=0
        for rig in $(rigs_of "$part"); do
            runs=$((runs + $(reps_of "$rig") * $(runs_of "$rig" "$part" | wc -l)))
        done
        part_of "$part"
        printf '%-6s %4d runs, %2d min: %s\n' "$part" $runs \
            $((($(total_seconds "$part") + 59) / 60)) "$title"
    done
    echo "together about $((($(total_seconds "${parts[@]}") + 59) / 60)) min:" \
        "what several parts need is run once"
}

# run_in RIG: all runs of this rig
run_in()
{
    local rig=$1 dir=$out/$1 runs arguments repeat seconds timeout=86400 status=0
    mapfile -t runs < <(runs_of "$rig" "${parts[@]}")
    repeat=$(reps_of "$rig")
    arguments=(-r "$repeat" "${programs[@]}")
    [ -z "$quick" ] || arguments+=(-q)
    if [ "$budget" -ne 0 ]; then
        seconds=$((budget * $(seconds_of "$rig" "${parts[@]}") / total))
        arguments+=(-t "$seconds")
        timeout=$((seconds + 300))
    fi
    [ -z "$work" ] || [ "$rig" = verbs ] || arguments+=(-w "$work")
    run_rounds "$rig" "$dir" $timeout $((${#runs[@]} * repeat)) \
        "${arguments[@]}" "$build" "$dir" "${runs[@]}" || status=$?
    case $status in
    0)  ;;
    77) say "nothing is run there"
        failed=1
        return 0 ;;
    *)  failed=1
        [ "$status" -eq 1 ] ||
            say "the runs did not end properly (status $status)" ;;
    esac
    done_rigs+=("$rig")
    # All rigs but an emulated guest compute the same
    [ "$rig" = verbs ] || work=$(cat "$dir/work")
    [ "$(wc -l < "$dir/runs")" -eq $((${#runs[@]} * repeat)) ] || failed=1
}

# report_part PART: its tables
report_part()
{
    local rig
    part_of "$1"
    for rig in "${rigs[@]}"; do
        [[ " ${done_rigs[*]} " = *" $rig "* ]] || continue
        printf '### %s; %s\n\n' "$title" "$(name_of "$rig")"
        tables $kind "$out/$rig" "${cases[*]}" "${variants[*]}"
        if [ $kind = policies ] && [ ${#cases[@]} -gt 2 ]; then
            printf '\nAll of these together:\n\n'
            tables summary "$out/$rig" "${cases[*]}" "${variants[*]}"
        fi
        [ -z "$paper" ] || printf '\nThe paper: %s.\n' "$paper"
        echo
    done
}

report()
{
    local part paper
    printf '# The evaluation: results\n\n    %s\n\n' "$command_line"
    where_and_when $((SECONDS - begin))
    busy_note "$load"
    printf 'See [evaluation](../evaluation.md) for what the columns mean.\n\n'
    if [[ " ${done_rigs[*]} " = *" $rig_usual "* ]]; then
        paper=$(tables compare "$out/$rig_usual" "$top/contrib/lib/paper.txt")
        # Without a line below the head, nothing of the paper was remade
        [ "$(wc -l <<< "$paper")" -lt 3 ] ||
            printf '## Beside the paper\n\nChanges; %s.\n\n%s\n\n' \
                "$(name_of "$rig_usual")" "$paper"
    fi
    printf '## All of it\n\n'
    for part in "${parts[@]}"; do
        report_part "$part"
    done
}

results()
{
    local rig
    echo "rig,case,variant,rep,loop_s,transfer_s,average_mib,peak_mib,uses,$(
        )hits,waited_s,helper_s,error_0.5,error_1,error_5,error_10,error_25,$(
        )error_more"
    for rig in "${done_rigs[@]}"; do
        tables results "$out/$rig" "$rig"
    done
}

[ -z "$list" ] || { list_parts; exit 0; }
new_folder "$out"
out=$(cd "$out" && pwd)
mapfile -t all_rigs < <(rigs_of "${parts[@]}")
prepare_rigs "$out/install.log" "${all_rigs[@]}" ${advice:+"$rig_usual"}

begin=$SECONDS
failed=0
[ -z "$advice" ] || take_advice
[ ${#parts[@]} -gt 0 ] || exit $failed
total=$(total_seconds "${parts[@]}")
done_rigs=()
say "this takes about $(((total + 59) / 60)) min, at most those of --budget"
for rig in "${all_rigs[@]}"; do
    run_in "$rig"
done
[ ${#done_rigs[@]} -gt 0 ] || exit 77

results > "$out/results.csv"
report > "$out/evaluation.md"
cat "$out/evaluation.md"
say "tables: $out/evaluation.md, runs: $out/results.csv;" \
    "took $((SECONDS - begin)) s"
exit $failed
