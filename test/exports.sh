#!/bin/bash
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# The symbols of a preloaded library override others silently: nothing but what
# is listed here may be exported, and the preloaded library may need no library
# of UCX.
#
# usage: exports.sh FOLDER-OF-THE-LIBRARIES [LIBRARY]
#   LIBRARY  libucp_firehose.so, if it is not in that folder

set -eu
dir=$1
firehose=${2:-$dir/libucp_firehose.so}
errors=0

# Builds that assert the order of locks have one more, see mutex.h
exported()
{
    nm -D --defined-only "$1" |
        awk '$3 != "predreg_rank_account_1" {print $3}' | sort
}

expect()
{
    local library=$1 difference
    shift
    difference=$(diff <(printf '%s\n' "$@" | sort) <(exported "$library")) || {
        echo "$library exports other than expected (< expected, > found):"
        echo "$difference"
        errors=1
    }
}

expect "$dir/libuct_predreg.so" \
    mallopt mlock mlock2 mprotect pkey_mprotect \
    predreg_firehose_count_1 predreg_firehose_map_1 predreg_firehose_room_2 \
    ucp_am_recv_data_nbx ucp_am_send_nb ucp_am_send_nbx \
    ucp_atomic_add32 ucp_atomic_add64 ucp_atomic_cswap32 ucp_atomic_cswap64 \
    ucp_atomic_fadd32 ucp_atomic_fadd64 ucp_atomic_fetch_nb \
    ucp_atomic_op_nbx ucp_atomic_post ucp_atomic_swap32 ucp_atomic_swap64 \
    ucp_cleanup ucp_config_read ucp_disconnect_nb \
    ucp_ep_close_nb ucp_ep_close_nbx ucp_ep_create ucp_ep_destroy \
    ucp_ep_flush ucp_ep_flush_nb ucp_ep_flush_nbx ucp_ep_rkey_unpack \
    ucp_get ucp_get_nb ucp_get_nbi ucp_get_nbx ucp_init_version \
    ucp_mem_map ucp_mem_unmap ucp_put \
    ucp_put_nb ucp_put_nbi ucp_put_nbx ucp_request_free \
    ucp_rkey_buffer_release ucp_rkey_compare ucp_rkey_destroy ucp_rkey_pack \
    ucp_stream_recv_nb \
    ucp_stream_recv_nbx ucp_stream_send_nb ucp_stream_send_nbx \
    ucp_tag_msg_recv_nb ucp_tag_msg_recv_nbx ucp_tag_recv_nb \
    ucp_tag_recv_nbr ucp_tag_recv_nbx ucp_tag_send_nb ucp_tag_send_nbr \
    ucp_tag_send_nbx ucp_tag_send_sync_nb ucp_tag_send_sync_nbx \
    ucp_worker_arm ucp_worker_create ucp_worker_destroy \
    ucp_worker_flush ucp_worker_flush_nb ucp_worker_flush_nbx \
    ucp_worker_progress \
    ucs_rcache_region_invalidate \
    uct_iface_open uct_iface_query uct_md_close uct_md_config_read \
    uct_md_iface_config_read uct_md_mem_alloc uct_md_mem_attach uct_md_mem_dereg uct_md_mem_dereg_v2 \
    uct_md_mem_free uct_md_mem_reg uct_md_mem_reg_v2 \
    uct_md_mkey_pack uct_md_mkey_pack_v2 uct_md_open uct_md_query \
    uct_md_query_v2 uct_mem_alloc uct_mem_free predreg_status
expect "$dir/libuct_predreg_core.so" uct_predreg_core_init_16 uct_predreg_core_status
expect "$dir/libucp_windows.so" ucp_windows_init_4
expect "$firehose" \
    ucp_fh_atomic_op_nbx ucp_fh_connect ucp_fh_expose ucp_fh_finalize \
    ucp_fh_flush_nbx ucp_fh_get_address ucp_fh_get_nbx ucp_fh_hold_query \
    ucp_fh_init ucp_fh_partial_pin_local ucp_fh_partial_pin_remote \
    ucp_fh_pin_local ucp_fh_pin_remote ucp_fh_put_nbx ucp_fh_query \
    ucp_fh_release ucp_fh_release_address ucp_fh_request_check_status \
    ucp_fh_request_free ucp_fh_try_pin_local ucp_fh_try_pin_remote \
    ucp_fh_unexpose ucp_fh_worker_create ucp_fh_worker_destroy \
    ucp_fh_worker_progress

# Each override must have something to override, or it would never be called. What
# is for libucp_firehose.so overrides nothing.
# These are for UCX 1.14 or 1.16 and later.
later=" ucp_rkey_compare uct_md_mem_attach uct_md_mem_reg_v2 uct_md_query_v2 "
for symbol in $(exported "$dir/libuct_predreg.so"); do
    case $symbol in
    predreg_*) continue ;;
    ucp_*) library=libucp.so.0 ;;
    ucs_*) library=libucs.so.0 ;;
    uct_*) library=libuct.so.0 ;;
    *)     library=libc.so.6 ;;
    esac
    path=$(ldd "$(command -v ucx_info)" | awk -v l="$library" '$1 == l {print $3}')
    case $later in
    *" $symbol "*) continue ;;
    esac
    exported "$path" | sed 's/@.*//' | grep -qx "$symbol" || {
        echo "$symbol overrides nothing: not in $path"
        errors=1
    }
done

if readelf -d "$dir/libuct_predreg.so" | grep -E 'NEEDED.*libuc[tpsm]'; then
    echo "libuct_predreg.so needs a library of UCX"
    errors=1
fi

exit $errors
