/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pinning.h"
#include "preloaded.h"

#include <ucs/debug/log_def.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

/* How often it is said that memory could not be pinned */
#define MAX_TOLD 10


static ucs_status_t map(ucp_fh_t *fh, uint64_t start, uint64_t length,
                        ucp_mem_h *memh_p)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = (void*)start,
        .length     = length
    };

    return ucp_fh_preloaded_map(fh->mem_context, &params, memh_p);
}

static ucs_status_t
pin(void *arg, uint64_t start, uint64_t length, void **handle_p)
{
    ucp_fh_t *fh = arg;
    ucp_fh_handle_t *handle;
    ucs_status_t status;

    handle = malloc(sizeof(*handle));
    if (handle == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err;
    }

    status = map(fh, start, length, &handle->memh);
    if (status != UCS_OK) {
        goto err_free_handle;
    }

    /* Packed here once, for all peers that will ask for it */
    status = ucp_rkey_pack(fh->mem_context, handle->memh, &handle->packed,
                           &handle->packed_length);
    if (status != UCS_OK) {
        goto err_unmap;
    }

    *handle_p = handle;
    return UCS_OK;

err_unmap:
    ucp_mem_unmap(fh->mem_context, handle->memh);
err_free_handle:
    free(handle);
err:
    return status;
}

void ucp_fh_pinning_complain(const ucp_fh_work_t *work)
{
    static _Atomic(int) is_explained;
    static _Atomic(int) num_told;

    /* Thousands of pins may fail for either reason. Relaxed: nothing else depends on what
     * was told */
    if (work->status != UCS_ERR_EXCEEDS_LIMIT) {
        if (atomic_load_explicit(&num_told, memory_order_relaxed) < MAX_TOLD) {
            atomic_fetch_add_explicit(&num_told, 1, memory_order_relaxed);
            ucs_warn("firehose: %" PRIu64 " bytes at 0x%" PRIx64
                     " could not be pinned: %s (this is said %d times at most)",
                     work->length, work->start,
                     ucs_status_string(work->status), MAX_TOLD);
        }
        return;
    }

    if (!atomic_exchange_explicit(&is_explained, 1, memory_order_relaxed)) {
        ucs_warn("firehose: %" PRIu64 " bytes at 0x%" PRIx64 " were not "
                 "pinned, nor may others be that this does not say: the bounds "
                 "of libuct_predreg.so (UCX_RCACHE_PRED_MAX_PINNED, "
                 "UCX_RCACHE_PRED_MAX_REGIONS, those of the node, ulimit -l) "
                 "leave no room; accepted: M + MAXVICTIM and what else the "
                 "program has in use", work->length, work->start);
    }
}

static ucs_status_t unpin(void *arg, void *arg_handle)
{
    ucp_fh_t *fh            = arg;
    ucp_fh_handle_t *handle = arg_handle;
    ucs_status_t status;

    status = ucp_mem_unmap(fh->mem_context, handle->memh);
    if (status != UCS_OK) {
        ucs_warn("firehose: memory could not be unpinned: %s",
                 ucs_status_string(status));
        return status;
    }

    ucp_rkey_buffer_release(handle->packed);
    free(handle);
    return UCS_OK;
}

ucp_fh_pin_ops_t ucp_fh_pinning_ops(ucp_fh_t *fh)
{
    return (ucp_fh_pin_ops_t){.pin = pin, .unpin = unpin, .arg = fh};
}
