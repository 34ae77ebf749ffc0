#!/bin/bash
#
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh shows besides programs under policies: each way in which the library
# helps beside stock UCX, in turns. Started by demo.sh through test/rig/run.sh.
#
#   systems.sh RIG BUILD OUT REPETITIONS
#   systems.sh RIG                       prints the ways of this rig
#
# RIG is verbs, where locked memory is limited; or cma, for the other ways. Appends
# to OUT/systems a line for each run and measure, WAY MEASURE VARIANT VALUE [TEXT]:
# VARIANT is stock or ours, VALUE is "nan" if the run ended early, and TEXT is then
# what it said. What runs printed is in OUT/raw. Prints lines "run WAY VARIANT REP".

set -eu

rig=$1
build=${2-}
out=${3-}
reps=${4-}

apps=$build/test/apps
predreg=$build/src/tools/predreg/ucx_predreg
failures=0

# Locked memory of a rank, KiB: less than the program has buffers, and more than
# UCX's own pools take
limit_kib=45000

# The ways of a rig
ways_of()
{
    case $1 in
    verbs) echo limit ;;
    *)     echo idle arena firehose eager ;;
    esac
}

# way_of WAY VARIANT: sets command, knobs (of ours), environment, and launch (what starts the
# command)
way_of()
{
    launch=(mpirun -np 2)
    environment=()
    case $1 in
    limit)    # A user's program: root's memory is not limited
              launch=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock
                      mpirun --oversubscribe -np 2)
              command=("$apps/manybuf" --buffers 12 --iters 1)
              knobs=() ;;
    idle)     launch=(mpirun -np 1)
              command=("$apps/fig1" --compute 20 --iters 30 --json)
              knobs=() ;;
    arena)    command=("$apps/temporaries" --pattern exchange --size 2m --iters 300)
              knobs=(--set ARENA=256M) ;;
    firehose) environment=(NATIVE_ONE_SIDED=1)
              command=("$apps/winputs" --window 256m --ops 5000)
              knobs=(--set WINDOWS=firehose) ;;
    eager)    # A process that sends to itself, through a transport that drops what
              # it is given, so that the processor's time is left. Stock UCX copies
              # messages of that length where an adapter would register them
              launch=()
              environment=("UCX_TLS=tcp" UCX_RNDV_THRESH=16k UCX_ZCOPY_THRESH=inf
                           "LD_PRELOAD=$build/test/bench/.libs/libdiscard.so")
              [ "$2" = stock ] || environment+=(UCX_ZCOPY_THRESH=256)
              command=("$apps/smallsends" --discard --blind --size 8000
                       --buffers 64 --sends 300000)
              knobs=(--set EAGER=y) ;;
    esac
}

# number_of NAME FILE: a field of JSON; the largest, of several lines
number_of()
{
    sed -n 's/.*"'"$1"'": *\([-+0-9.e]*\).*/\1/p' "$2" | sort -g | tail -n 1
}

# note WAY MEASURE VARIANT VALUE [TEXT]
note()
{
    echo "$*" >> "$out/systems"
}

# measure WAY VARIANT RAW: notes what a run measured that has ended well
measure()
{
    local pinned=$3.stat
    case $1 in
    limit)    note "$1" pinned "$2" "$(number_of bytes_peak "$3.out")" ;;
    idle)     note "$1" pinned "$2" "$(number_of pinned_average_bytes "$pinned")"
              note "$1" time "$2" "$(number_of loop_s "$3.out")" ;;
    arena)    note "$1" time "$2" "$(number_of usec "$3.out")" ;;
    firehose) note "$1" pinned "$2" "$(number_of pinned_peak_bytes "$pinned")"
              note "$1" time "$2" "$(number_of us "$3.out")" ;;
    eager)    note "$1" time "$2" "$(number_of ns_per_send "$3.out")" ;;
    esac
}

# run WAY VARIANT REP
run()
{
    local raw=$out/raw/$1.$2.$3 status=0 ours=()
    local launch environment command knobs

    echo "run $1 $2 $3"
    way_of "$1" "$2"
    [ "$2" = stock ] || ours=("$predreg" run --summary=json "${knobs[@]}" --)
    (
        [ "$1" != limit ] || ulimit -l $limit_kib
        timeout --foreground -k 5 100 env NATIVE_STAT="$raw.stat" \
            "${environment[@]}" "${ours[@]}" "${launch[@]}" "${command[@]}"
    ) > "$raw.out" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        measure "$1" "$2" "$raw"
    elif [ "$1 $2" = "limit stock" ]; then
        # This is what the library is for
        note "$1" pinned "$2" nan ends: \
            "$(sed -n 's/.*UCX *ERROR *//p' "$raw.out" | head -n 1)"
    else
        failures=$((failures + 1))
        echo "failed $1 $2 $3 status $status"
    fi
}

[ $# -gt 1 ] || { ways_of "$rig"; exit 0; }
mkdir -p "$out/raw"
for ((rep = 1; rep <= reps; ++rep)); do
    for way in $(ways_of "$rig"); do
        run "$way" stock $rep
        run "$way" ours $rep
    done
done
exit $((failures > 0))
