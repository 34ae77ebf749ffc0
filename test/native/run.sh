#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Run a command in the native rig: UCX registers the memory of large messages
# between processes of this machine, and the kernel pins it, without a network
# adapter and without a guest. See README.md.
#
# usage: run.sh BUILD-FOLDER COMMAND [ARGS...]
#
# Exit status: that of COMMAND; 77 if this cannot be done here.

set -u
here=$(cd "$1" && pwd)/test/native
shift

[ -f "$here/libuct.so.0" ] || {
    echo "the native rig was not built: it needs liburing and patchelf" >&2
    exit 77
}

default()
{
    local name=${1%%=*}
    [ -n "${!name+set}" ] || export "$1"
}

export LD_LIBRARY_PATH=$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
default UCX_TLS=cma,posix,self
default OMPI_ALLOW_RUN_AS_ROOT=1
default OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
default OMPI_MCA_pml=ucx
default OMPI_MCA_osc=ucx
default OMPI_MCA_opal_common_ucx_tls=any
default OMPI_MCA_opal_common_ucx_devices=any
default OMPI_MCA_btl=^vader,tcp,openib,usnic
default OMPI_MCA_rmaps_base_oversubscribe=1
exec "$@"
