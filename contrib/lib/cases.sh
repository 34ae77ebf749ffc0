# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What demo.sh and evaluate.sh run, and where. A part remakes a figure or table
# of the paper or answers a question of ours, a case is a program with its
# arguments and ranks, a variant is a policy with its knobs. A rig is where that
# is run: verbs (an RDMA device, here or in a guest), or cma with what an
# adapter adds to a registration (see test/native/README.md). To be sourced by
# bash; needs $quick (empty, or not: fewer cases and iterations) and, for
# cases, $work_per_ms (work that takes a millisecond).
#
# shellcheck shell=bash disable=SC2034,SC2154

parts_all=(costs fig2 fig5 fig6 fig8 fig9 fig10 fig11 fig12 tab4 busy idle threads \
           verbs)

# Programs of the user: commands by name, see own_program
declare -A own_commands=()

# UCX's model of an InfiniBand adapter
rig_usual=cma-16,0.25

# Sets title, rigs, cases and variants of a part, what the table is of (kind),
# and paper: what the paper measured, or nothing. Ratios are to the first
# variant.
part_of()
{
    local modes=(helper-off helper-conservative helper-aggressive
                 helper-progress)
    rigs=("$rig_usual")
    kind=policies
    variants=(stock on-demand predict budget-inf)
    [ -z "$quick" ] || variants=(stock on-demand predict)
    paper=
    case $1 in
    costs)
        title="Programs and adapters, no idle processor"
        rigs=(cma-0,0 "$rig_usual" cma-16,0.7)
        cases=(hpcc-2 hpcc-2000-2 fig1short-5m-2 fig1-5m-2 fig1new-5m-2
               transpose-2 wavefront-2 cg-2 ft1d-2 is-2)
        variants=(stock leave-pinned on-demand predict budget-1 budget-inf)
        [ -z "$quick" ] || cases=(hpcc-2 fig1short-5m-2 cg-2 is-2) ;;
    fig2)
        title="Figure 2: registration schemes, the program of Figure 1"
        cases=(fig1-5m-2)
        variants=(stock leave-pinned on-demand predict budget-1 budget-inf)
        paper="without leave-pinned 25.83 % longer, less memory" ;;
    fig5)
        title="Figure 5: errors of predictions"
        kind=errors
        cases=(fig1-5m-2 cg-2 wavefront-2 ft1d-2 is-2)
        variants=(budget-inf)
        paper="74.89 % within 0.5 %, 94.68 % within 5 %, over six programs" ;;
    fig6)
        title="Figure 6 (a): errors of predictions by length of the window"
        kind=errors
        cases=(cg-2)
        # The default context window is 2
        variants=(window-0 window-1 budget-inf window-3 window-4)
        paper="length 0: 20 % fewer within 0.5 % than the others" ;;
    fig8)
        title="Figure 8, Table 1: one idle processor for two helpers"
        cases=(wavefront-2@one cg-2@one ft1d-2@one is-2@one hpcc-2@one)
        variants=(stock on-demand predict budget-1 budget-inf "${modes[@]}")
        if [ -n "$quick" ]; then
            cases=(wavefront-2@one cg-2@one)
            variants=(stock predict "${modes[@]}")
        fi
        paper="SP: aggressive saves more memory than conservative, CG: \
conservative only" ;;
    fig9)
        title="Figure 9: message sizes, buffers reused"
        cases=(fig1-64k-2 fig1-256k-2 fig1-1m-2 fig1-4m-2 fig1-16m-2)
        [ -z "$quick" ] || cases=(fig1-256k-2 fig1-4m-2)
        paper="24.75 % less memory with 4 MB, latency within 5 % from 1 MB on" ;;
    fig10)
        title="Figure 10: message sizes, buffers not reused"
        cases=(fig1new-64k-2 fig1new-256k-2 fig1new-1m-2 fig1new-4m-2
               fig1new-16m-2)
        [ -z "$quick" ] || cases=(fig1new-256k-2 fig1new-4m-2)
        paper="peak memory of leave-pinned 4.62 times that of the helper with \
4 MB, comparable latency" ;;
    fig11)
        title="Figure 11, Table 2: kernels"
        cases=(wavefront-2 cg-2 ft1d-2 is-2)
        [ -z "$quick" ] || cases=(wavefront-2 cg-2)
        paper="memory lower by 9 to 18 % (BT, LU, SP), peak by 31 % (FT); time \
within -1.12 and +0.27 %" ;;
    fig12)
        title="Figure 12, Table 3: several ranks on a node"
        cases=(ft2d-4)
        paper="memory -49.39 % and -41.70 %, time -1.37 % and -0.70 % (two \
task groupings)" ;;
    tab4)
        title="Figures 13 and 14, Table 4: strong and weak scaling"
        # 16 MB on two ranks begin both series
        cases=(ftstrong-2 ftstrong-4 ftweak-4)
        paper="memory lower by 32 to 34 %, time within -0.15 and +0.20 %" ;;
    busy)
        title="Who does the helper's work: no idle processor"
        cases=(fig1-5m-2 hpcc-2 wavefront-2 cg-2 ft1d-2)
        [ -z "$quick" ] || cases=(fig1-5m-2 cg-2)
        variants=(stock on-demand predict "${modes[@]:1}") ;;
    idle)
        title="Who does the helper's work: an idle processor for each helper"
        cases=(fig1-5m-1 fig1short-5m-1)
        variants=(stock leave-pinned on-demand predict budget-1 budget-inf
                  "${modes[@]:1}")
        [ -z "$quick" ] || variants=(stock on-demand predict "${modes[@]:1}") ;;
    threads)
        title="Programs with threads of their own"
        cases=(hybrid-all-1 hybrid-sleep-1 hybrid-half-1 hybrid-phases-1 hybrid-all-2)
        [ -z "$quick" ] || cases=(hybrid-all-1 hybrid-half-1)
        variants=(stock on-demand predict helper-aggressive helper-progress) ;;
    verbs)
        title="Over verbs: what the kernel counts on an RDMA device"
        rigs=(verbs)
        kind=counts
        cases=(fig1-5m-2 cg-2 wavefront-2 ft1d-2)
        [ -z "$quick" ] || cases=(fig1-5m-2)
        variants=(stock on-demand predict) ;;
    own)
        # Not one of parts_all: there is nothing without --program
        title="Other programs"
        cases=("${!own_commands[@]}")
        cases=("${cases[@]/%/-2}")
        variants=(stock leave-pinned on-demand predict budget-1 budget-inf) ;;
    demo)
        # Not of evaluate.sh: the programs of demo.sh
        title="The demonstration"
        cases=(fig1-reuse-2 fig1-noreuse-2 transpose-2 hpcc-2)
        variants=(stock on-demand predict) ;;
    *)
        return 1 ;;
    esac
}

# case_of CASE RIG APPS: sets what runs a case, PROGRAM[-SIZE]-RANKS[@one]: ranks,
# command, launch (what starts it in all ranks), place (what binds all that to
# processors) and problem (the size in hpccinf.txt). @one means that all ranks
# share one processor, which they give up while they wait, and leave the others
# idle. APPS is the folder of the programs. Threads of the hybrid program keep all
# processors busy (all), or sleep while they wait for each other (sleep), or half of
# them (half), or change between the two (phases).
case_of()
{
    local name=${1%@*} rig=$2 apps=$3
    local size=${name#*-}
    size=${size%-*}
    ranks=${name##*-}
    problem=1000
    place=()
    launch=(mpirun -np "$ranks")
    if [ "$1" != "$name" ]; then
        place=(taskset -c "$(first_processor)")
        launch+=(--bind-to none --mca mpi_yield_when_idle 1)
    fi

    # Computation in an iteration, ms, and iterations, which make a run of two
    # seconds; then the same in an emulated guest, where a transfer of 5 MB takes
    # 120 ms instead of 0.2
    case ${name%%-*} in
    fig1)      command=("$apps/fig1")
               case $size in
               reuse)   command+=(--verify); loop 20 30 150 8 ;;
               noreuse) command+=(--verify --no-reuse); loop 20 15 150 8 ;;
               *)       command+=(--size "$size"); loop 20 30 150 8 ;;
               esac ;;
    fig1short) command=("$apps/fig1" --size "$size"); loop 8 60 150 8 ;;
    fig1new)   command=("$apps/fig1" --size "$size" --no-reuse)
               # New buffers all the time are much memory
               if [ "$size" = 16m ]; then
                   loop 20 8 150 8
               else
                   loop 20 20 150 8
               fi ;;
    hybrid)    local threads=$(($(nproc) / ranks))
               launch+=(--bind-to none)
               place=(env OMP_WAIT_POLICY=active)
               case $size in
               sleep)  place=(env OMP_WAIT_POLICY=passive) ;;
               half)   threads=$(((threads + 1) / 2)) ;;
               phases) threads=$threads,$(((threads + 1) / 2)) ;;
               esac
               command=("$apps/hybrid" --threads "$threads"); loop 1 2000 20 200 ;;
    cg)        command=("$apps/cg"); loop 20 80 80 8 ;;
    wavefront) command=("$apps/wavefront"); loop 20 80 500 8 ;;
    is)        command=("$apps/is"); loop 20 60 300 8 ;;
    ft1d)      command=("$apps/ft"); loop 20 60 400 8 ;;
    ft2d)      command=("$apps/ft" --layout 2d); loop 20 40 400 8 ;;
    ftstrong)  command=("$apps/ft" --strong --size 16m); loop 20 40 400 6 ;;
    ftweak)    command=("$apps/ft" --size 8m); loop 20 30 400 6 ;;
    transpose) command=("$apps/transpose" --json)
               [ "$rig" = verbs ] || command+=(--n 2048 --iters 10) ;;
    hpcc)      command=(hpcc)
               [ "$name" = "hpcc-$ranks" ] || problem=$size ;;
    *)         read -ra command <<< "${own_commands[${name%%-*}]-}"
               [ ${#command[@]} -gt 0 ] || return 1 ;;
    esac
}

# own_program NAME=COMMAND: a program of the user, by which its case is called
own_program()
{
    local work_per_ms=0
    [[ $1 =~ ^[a-z][a-z0-9]*=. ]] &&
        ! case_of "${1%%=*}-2" cma-0,0 /nowhere || return 1
    own_commands[${1%%=*}]=${1#*=}
}

# loop MS ITERATIONS GUEST-MS GUEST-ITERATIONS
loop()
{
    [ "$rig" != verbs ] || shift 2
    local iterations=$2
    [ -z "$quick" ] || iterations=$((iterations / 2))
    command+=(--compute "$1" --iters "$iterations" --json
              --work-per-ms "$work_per_ms")
}

# The first processor that may be used here
first_processor()
{
    sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status
}

# Sets policy and knobs of a variant; no policy for stock UCX
variant_of()
{
    policy=predict
    knobs=()
    case $1 in
    stock)    policy= ;;
    budget-*) knobs=(--set "BUDGET=${1#*-}") ;;
    window-*) knobs=(--set BUDGET=inf --set "WINDOW=${1#*-}") ;;
    helper-*) knobs=(--set "HELPER=${1#*-}") ;;
    *)        policy=$1 ;;
    esac
}

# options_of RIG: sets what run.sh is told for a rig
options_of()
{
    options=()
    case $1 in
    cma-*) options=(--cma --adapter-cost "${1#cma-}") ;;
    esac
}

# The name of a rig, for people
name_of()
{
    local cost
    case $1 in
    verbs)   if [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ]; then
                 echo "an RDMA device of this machine"
             else
                 echo "Soft-RoCE in an emulated guest of 2 processors"
             fi ;;
    cma-0,0) echo "native rig, pinning alone, no adapter" ;;
    cma-*)   cost=${1#*-}
             echo "native rig, an adapter that takes ${cost%,*} us and" \
                 "${cost#*,} us a page" ;;
    esac
}
