# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What evaluate.sh runs. A part remakes a figure or table of the paper, a case
# is a program with its arguments and ranks, a variant is a policy with its
# knobs. To be sourced by bash, here and in the guest; needs $quick (empty, or
# not: fewer cases and iterations) and $apps (folder of the programs).
#
# shellcheck shell=bash disable=SC2034,SC2154

parts_all=(fig2 fig5 fig6 fig8 fig9 fig10 fig11 fig12 tab4)

# Sets title, cpus (of the guest), cases and variants of a part, and paper: what
# the paper measured
part_of()
{
    cpus=2
    variants=(leave-pinned on-demand predict)
    [ -z "$quick" ] || variants=(leave-pinned predict)
    case $1 in
    fig2)
        title="Figure 2: registration schemes, the program of Figure 1"
        cases=(fig1-5m-2)
        variants=(leave-pinned on-demand predict)
        paper="without leave-pinned 25.83 % longer, less memory" ;;
    fig5)
        title="Figure 5: errors of predictions"
        cases=(fig1-5m-2 cg-2 wavefront-2 ft1d-2 is-2)
        variants=(predict)
        paper="74.89 % within 0.5 %, 94.68 % within 5 %, over six programs" ;;
    fig6)
        title="Figure 6 (a): errors of predictions by context window"
        cases=(cg-2)
        # The default context window is 2
        variants=(window-0 window-1 predict window-3 window-4)
        [ -z "$quick" ] || variants=(window-0 predict window-4)
        paper="length 0: 20 % fewer within 0.5 % than the others" ;;
    fig8)
        title="Figure 8, Table 1: fewer idle processors than helpers"
        cpus=3
        cases=(wavefront-2 cg-2)
        variants=(leave-pinned helper-off helper-conservative helper-aggressive
                  helper-progress)
        paper="SP: aggressive saves more memory than conservative, CG: \
conservative only; SP 18.60, 18.60, 18.62 s, CG 17.08, 17.09, 17.09 s (no \
helper, conservative, aggressive)" ;;
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
        paper="memory BT -16.13 %, LU -18.43 %, SP -8.68 %, FT peak -31.0 %, \
CG average only; time BT -0.33 %, LU +0.27 %, SP -0.36 %, CG -1.12 %, FT \
-0.04 %" ;;
    fig12)
        title="Figure 12, Table 3: several ranks on a node"
        cases=(ft2d-4)
        paper="memory -49.39 % and -41.70 %, time -1.37 % and -0.70 % (two \
task groupings)" ;;
    tab4)
        title="Figures 13 and 14, Table 4: strong and weak scaling"
        # 16 MB on two ranks begin both series
        cases=(ftstrong-2 ftstrong-4 ftweak-4)
        paper="memory strong -33.19, -34.08, -31.70 %, weak -33.05, -34.08, \
-33.09 %; time strong -0.15, 0.00, +0.20 %, weak +0.20, 0.00, +0.09 % (16, 32, \
64 nodes)" ;;
    *)
        return 1 ;;
    esac
}

# Sets ranks and command of a case: PROGRAM[-SIZE]-RANKS
case_of()
{
    local size=${1#*-}
    size=${size%-*}
    ranks=${1##*-}
    case ${1%%-*} in
    # As in the paper, computation takes longer than a transfer does
    fig1)      command=(fig1 --size "$size" --compute 150) ;;
    fig1new)   command=(fig1 --size "$size" --compute 150 --no-reuse) ;;
    cg)        command=(cg) ;;
    wavefront) command=(wavefront) ;;
    is)        command=(is) ;;
    ft1d)      command=(ft) ;;
    ft2d)      command=(ft --layout 2d) ;;
    ftstrong)  command=(ft --strong --size 16m) ;;
    ftweak)    command=(ft --size 8m) ;;
    *)         return 1 ;;
    esac
    case $1 in
    fig1*-16m-*) iterations 6 3 ;;
    fig1*)       iterations 8 4 ;;
    ftstrong-* | ftweak-*) iterations 6 3 ;;
    *)           iterations 8 4 ;;
    esac
    command[0]=$apps/${command[0]}
}

# iterations NUMBER QUICK-NUMBER
iterations()
{
    if [ -z "$quick" ]; then
        command+=(--iters "$1")
    else
        command+=(--iters "$2")
    fi
}

# Sets policy and knobs of a variant
variant_of()
{
    policy=predict
    knobs=()
    case $1 in
    window-*) knobs=(--set "WINDOW=${1#*-}") ;;
    helper-*) knobs=(--set "HELPER=${1#*-}") ;;
    *)        policy=$1 ;;
    esac
}
