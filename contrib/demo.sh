#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The demonstration, on a fresh machine: installs what is missing, builds, runs
# programs under stock UCX (leave-pinned), registration on demand and
# prediction, and shows how much memory each had registered and what that cost. Then
# it shows each further way in which the library helps, beside stock UCX.

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
usage: demo.sh [--native] [--repetitions N] [--out DIR]

  --native         do not boot a guest, whatever RDMA device is here
  --repetitions N  1 to 20 (5, or as many as fit the time); in a guest 1
  --out DIR        a new folder for the results (results/demo-DATE)

With an RDMA device, four programs run on it. Without one they run in the native
rig, at the speed of memory, with the cost of an adapter added, and one of them
in a guest with Soft-RoCE. Where there cannot be a native rig, all of them run in
the guest, whose times mean nothing. Then, beside stock UCX: prediction with an idle
processor, messages from new memory, a window and small sends, natively; and a limit
on locked memory, over verbs.

Writes into the folder: table.md, short-table.md, registered-memory.svg, ways.svg,
summary.json (a line for each program and policy), and for each of these places a
folder with what was measured, in raw/. Exit status: 0; 1 if a run failed; 77 if there is no RDMA device, no
native rig and no way to boot a guest.
USAGE
}

with_guest=1
reps=
out=$top/results/demo-$(date +%Y%m%d-%H%M%S)
while [ $# -gt 0 ]; do
    case $1 in
    --native)  with_guest= ;;
    --repetitions|--reps)
               reps=${2-}; range "$1" "$reps" 1 20; shift ;;
    --out)     out=${2-}; shift ;;
    --help|-h) usage; exit 0 ;;
    *)         usage >&2; die "unknown argument '$1'; accepted are the above" ;;
    esac
    [ $# -gt 0 ] || die "the last option needs a value; see --help"
    shift
done
# Seconds after which no repetition may end, unless they were asked for
budget=0
if [ -z "$reps" ]; then
    reps=5
    budget=150
fi
new_folder "$out"
out=$(cd "$out" && pwd)

part_of demo
failed=0
begin=$SECONDS

# run_demo RIG REPETITIONS PROGRAM...: runs programs under the policies, where they
# are sampled for the curves as well. Fails if nothing can be run there.
run_demo()
{
    local rig=$1 arguments=(-r "$2" -t "$budget" -a) status=0 runs=() count name
    local variant
    count=$2
    shift 2
    for name in "$@"; do
        for variant in "${variants[@]}"; do
            runs+=("$name:$variant")
        done
    done
    if [ "$rig" != verbs ]; then
        arguments+=(-s)
        count=$((count + 1))
    fi
    run_rounds "$rig" "$out/$rig" $((300 + count * 300)) \
        $((${#runs[@]} * count)) "${arguments[@]}" "$build" "$out/$rig" \
        "${runs[@]}" || status=$?
    case $status in
    0)   ;;
    77)  return 1 ;;
    1)   failed=1 ;;
    124) failed=1
         say "not everything was run: the time was up. Is the machine busy?" ;;
    *)   failed=1
         say "the runs did not end properly (status $status)" ;;
    esac
    [ -s "$out/$rig/runs" ] || die "no run succeeded; see $out/$rig/raw"
}

# show_ways RIG REPETITIONS: runs each way in which the library helps and stock UCX in
# turns, as far as there is such a way in this rig
show_ways()
{
    local options status
    options_of "$1"
    set +e
    "$top/test/rig/run.sh" "${options[@]}" --build "$build" --out "$out" \
        --timeout 300 -- "$top/contrib/lib/systems.sh" "${1%%-*}" "$build" "$out" \
        "$2" | show_progress "$out" $(($2 * 2 * $(
            "$top/contrib/lib/systems.sh" "${1%%-*}" | wc -w)))
    status=${PIPESTATUS[0]}
    set -e
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed=1
}

# Natively: in which rig there is time, and what it counts
native_table()
{
    printf '%s:\n\n' "$(name_of "$1" | sed 's/^./\U&/')"
    tables demo "$out/$1"
    cat <<NOTES

Registered memory of a rank, on average over time and ranks, and the highest;
uses of it, and hits, which found it registered; how long communications waited
for registrations; and the run time: medians, the shortest and the longest run.
NOTES
    [ "$1" = verbs ] || cat <<NOTES
Leave-pinned is stock UCX without our library. Pinned memory is counted by the
rig; nothing travels through an adapter, whose time is added to each
registration (test/native).
NOTES
    echo
    busy_note "$load"
}

# The same in short, for the README
short_table()
{
    tables demo "$1" | awk -F'|' -v OFS='|' '
        NR == 1 { $6 = " memory, of leave-pinned\47s "; $13 = " run time, of leave-pinned\47s " }
        { print $1, $2, $3, $6, $9, $13, "" }'
}

guest_table()
{
    printf '%s:\n\n' "$(name_of verbs | sed 's/^./\U&/')"
    tables counts "$out/verbs" "${cases[*]}" "${variants[*]}"
    cat <<NOTES

Stock is UCX's leave-pinned. Memory is what the kernel counts as pinned for
verbs (VmPin, sampled every 20 ms), less what UCX's own pools pin. Waited for are
registrations that a communication waited for. No times: they are those of an
emulator.
NOTES
}

ways_table()
{
    [ -s "$out/systems" ] || return 0
    printf '\nOther ways in which the library helps, beside stock UCX:\n\n'
    tables ways "$out"
    cat <<NOTES

Medians. The limit is on locked memory of a user's program over verbs, beyond which
stock UCX ends the job; all others run in the native rig.
NOTES
}

# report RIG...: the first is that of the curves
report()
{
    local rig
    {
        printf 'Two ranks. '
        where_and_when $((SECONDS - begin))
        for rig in "$@"; do
            if [ "$rig" = verbs ] && ! has_rdma_device; then
                guest_table
            else
                native_table "$rig"
            fi
        done
        ways_table
    } > "$out/table.md"
    short_table "$out/$1" > "$out/short-table.md"
    for rig in "$@"; do
        tables demo-json "$out/$rig" "$rig"
    done > "$out/summary.json"
    tables demo-picture "$out/$1" "UCX $(pkg-config --modversion ucx), 2 ranks, $(
        name_of "$1")" > "$out/registered-memory.svg"
    [ ! -s "$out/systems" ] ||
        tables ways-picture "$out" "UCX $(pkg-config --modversion ucx), $(
            nproc) processors" > "$out/ways.svg"
    echo
    cat "$out/table.md"
    echo
    [ ! -s "$out/ways.svg" ] || say "bars:   $out/ways.svg"
    say "curves: $out/registered-memory.svg"
    say "table:  $out/table.md"
}

rigs=("$rig_usual" verbs)
if has_rdma_device; then
    rigs=(verbs)
elif [ -z "$with_guest" ]; then
    rigs=("$rig_usual")
fi
prepare_rigs "$out/install.log" "${rigs[@]}"

begin=$SECONDS
done_rigs=()
for rig in "${rigs[@]}"; do
    programs=("${cases[@]}")
    repeat=$reps
    if [ "$rig" = verbs ] && ! has_rdma_device; then
        repeat=1
        [ ${#done_rigs[@]} -eq 0 ] || programs=("${cases[0]}")
    fi
    if run_demo "$rig" "$repeat" "${programs[@]}"; then
        done_rigs+=("$rig")
    elif [ "$rig" = verbs ]; then
        say "nothing of verbs: no RDMA device here, and no guest (see above)"
    else
        say "no times: they need the native rig (see above)"
    fi
done
[ ${#done_rigs[@]} -gt 0 ] || exit 77
for rig in "${done_rigs[@]}"; do
    show_ways "$rig" "$([ "$rig" = verbs ] && echo 1 || echo $((reps < 3 ? reps : 3)))"
done

report "${done_rigs[@]}"
say "took $(((SECONDS - begin) / 60)) min $(((SECONDS - begin) % 60)) s"
exit $failed
