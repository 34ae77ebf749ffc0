#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The demonstration, on a fresh machine: installs what is missing, builds, runs
# programs under stock UCX (leave-pinned), registration on demand and
# prediction, and shows how much memory each had registered and what that cost.

set -eu
export LC_ALL=C

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=contrib/lib/build.sh
. "$top/contrib/lib/build.sh"

usage()
{
    cat <<USAGE
usage: demo.sh [--native] [--reps N] [--out DIR]

  --native   run here, whatever RDMA device is here (default: boot a guest with
             Soft-RoCE if there is none)
  --reps N   repetitions, 1 to 20 (2, or 1 where that would take too long)
  --out DIR  a new folder for the results (results/demo-DATE)

Writes into the folder: table.txt, registered-memory.svg, summary.json (a line
for each program and policy), and raw/ with the samples and summaries of each
run. Exit status: 0; 1 if a run failed; 77 if there is no RDMA device and no way
to boot a guest.
USAGE
}

native=()
reps=2
# Seconds after which no repetition may end, unless they were asked for
budget=270
out=$top/results/demo-$(date +%Y%m%d-%H%M%S)
while [ $# -gt 0 ]; do
    case $1 in
    --native)  native=(--native) ;;
    --reps)    reps=${2-}; budget=0; shift ;;
    --out)     out=${2-}; shift ;;
    --help|-h) usage; exit 0 ;;
    *)         usage >&2; die "unknown argument '$1'; accepted are the above" ;;
    esac
    [ $# -gt 0 ] || die "the last option needs a value; see --help"
    shift
done
[[ $reps =~ ^([1-9]|1[0-9]|20)$ ]] || die "--reps: '$reps'; accepted: 1 to 20"
[ -n "$out" ] || die "--out: ''; accepted: the name of a folder"
{ mkdir -p "$out" && [ -w "$out" ]; } 2>/dev/null ||
    die "cannot write to '$out'; accepted: a folder that can be written to" \
        "(--out DIR)"
out=$(cd "$out" && pwd)
[ ! -e "$out/runs" ] ||
    die "'$out' has results already; accepted: a new folder"

# progress STEP STEPS PROGRAM POLICY: on one line that changes, if a terminal
# shows it
begin=$SECONDS
progress_open=
progress()
{
    local text
    text=$(printf 'step %2d of %d  %-13s %-13s %d:%02d elapsed' "$1" "$2" \
           "$3" "$4" $(((SECONDS - begin) / 60)) $(((SECONDS - begin) % 60)))
    if [ -t 1 ]; then
        printf '\r\033[K%s' "$text"
        progress_open=1
    else
        echo "$text"
    fi
}

progress_end()
{
    [ -z "$progress_open" ] || echo
    progress_open=
}

show_progress()
{
    local word
    while read -ra word; do
        case ${word[0]-} in
        step)    # STEP STEPS PROGRAM POLICY
                 progress "${word[@]:1}" ;;
        failed)  # PROGRAM POLICY REP STATUS...
                 progress_end
                 say "${word[1]} under ${word[2]} failed (${word[*]:4}); see" \
                     "$out/raw/${word[1]}.${word[2]}.${word[3]}.out" ;;
        skipped) # PROGRAM REP
                 progress_end
                 say "no repetition ${word[2]} of ${word[1]}: this machine is" \
                     "slow or busy" ;;
        *)       progress_end
                 echo "${word[*]-}" ;;
        esac
    done
    progress_end
}

where()
{
    if has_rdma_device || [ ${#native[@]} -gt 0 ]; then
        echo "natively on $(uname -n)"
    else
        echo "Soft-RoCE in an emulated guest, 2 processors"
    fi
}

report()
{
    local ucx subtitle
    ucx=$(pkg-config --modversion ucx)
    subtitle="UCX $ucx, 2 ranks, $(where); VmPin less UCX's own pools;"
    subtitle="$subtitle averages are of all ranks"
    {
        tables demo "$out"
        cat <<NOTES

UCX $ucx, 2 ranks, $(where).
Memory is counted by the kernel (VmPin, sampled every 20 ms) less what UCX's own
pools pin, per rank, from the first registration to the end of UCX. avg: over
time, ranks and runs; peak: the highest seen; of l-p: against leave-pinned.
Uses, hits and the critical path are counted by the library, per rank. Stock UCX
knows no hits; under leave-pinned the library is loaded in the first repetition
only, to count the pools. Run time: the loop of the program; of hpcc, the job.
NOTES
        busy_note "$load"
    } > "$out/table.txt"
    tables demo-json "$out" > "$out/summary.json"
    tables demo-picture "$out" "$subtitle" > "$out/registered-memory.svg"
    echo
    cat "$out/table.txt"
    echo
    say "curves: $out/registered-memory.svg"
    say "table:  $out/table.txt"
}

prepare_runs "$out/install.log" hpcc

begin=$SECONDS
say "running four programs under three policies, up to $reps times"
set +e
"$top/test/rig/run.sh" "${native[@]+"${native[@]}"}" --out "$out" \
    --timeout $((300 + reps * 300)) -- \
    "$top/contrib/lib/demo-guest.sh" "$build" "$out" "$reps" "$budget" |
    show_progress
status=${PIPESTATUS[0]}
set -e
case $status in
0|1) ;;
77)  exit 77 ;;
124) say "not everything was run: the time was up. Is the machine busy?" >&2 ;;
*)   die "the runs did not end properly (status $status)" ;;
esac

[ -s "$out/runs" ] || die "no run succeeded; see $out/raw"
report
[ "$status" -eq 0 ] || status=1
say "took $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s"
exit "$status"
