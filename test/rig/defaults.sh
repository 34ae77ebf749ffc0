# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What run.sh tells UCX and MPI, so that they use the device there is. To be sourced
# by it; needs its $suite and $adapter_cost.
#
# shellcheck shell=bash disable=SC2154

# default NAME=VALUE: what the caller has set stays.
default()
{
    local name=${1%%=*}
    [ -n "${!name+set}" ] || export "${1?}"
}

defaults_mpi()
{
    default OMPI_ALLOW_RUN_AS_ROOT=1
    default OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    default OMPI_MCA_pml=ucx
    default OMPI_MCA_osc=ucx
    # none of these would be used; that of libfabric sleeps for a second when
    # it is closed, at the end of each job
    default OMPI_MCA_btl=^vader,tcp,openib,usnic,ofi
    # the guest has fewer processors than tests have ranks (mpirun
    # --oversubscribe)
    default OMPI_MCA_rmaps_base_oversubscribe=1
    # the same for Open MPI 5, and for 6
    if [ "$suite" = unstable ]; then
        default PRTE_MCA_mapby=:oversubscribe
    else
        default PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    fi
}

# See test/native/README.md
defaults_cma()
{
    export LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export NATIVE_ADAPTER_COST=${adapter_cost:-0,0}
    default UCX_TLS=cma,posix,self
    default UCX_RCACHE_PRED_COMPONENTS=cma
    default OMPI_MCA_opal_common_ucx_tls=any
    default OMPI_MCA_opal_common_ucx_devices=any
}

defaults_guest()
{
    defaults_mpi
    default UCX_TLS=rc,self
    default UCX_NET_DEVICES=rxe0:1
    # the GID of the IPv4 address; with another the wire-up times out
    default UCX_IB_GID_INDEX=0
    # pin 33 MB a rank instead of 76 before the program has done anything
    default UCX_RC_VERBS_RX_QUEUE_LEN=256
    default UCX_UD_VERBS_RX_QUEUE_LEN=256
    case $suite in
    trixie|unstable)
        # else UCX 1.18 moves large messages over rxe by active messages, which
        # register nothing, and knows no rendezvous for a plain send
        default UCX_RNDV_SCHEME=get_zcopy
        default UCX_RNDV_THRESH=16k ;;
    esac
}
