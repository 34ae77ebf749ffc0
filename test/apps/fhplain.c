/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "fhplain.h"

#include <sched.h>
#include <unistd.h>

/* So often in a row nothing has to happen before a process sleeps, and for how
 * long it does, us: as the thread of Firehose where it cannot be woken */
#define MAX_IDLE 64
#define NAP      100


void fhplain_open(fhplain_t *plain, fhjob_t *job, int peer)
{
    ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SERIALIZED
    };
    ucp_ep_params_t ep_params  = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
        .address    = (ucp_address_t*)job->shared->ucp_addresses[peer]
    };
    ucp_address_t *address;
    size_t length;

    memset(plain, 0, sizeof(*plain));
    plain->job = job;
    fhjob_check(job, ucp_worker_create(job->context, &params, &plain->worker),
                "ucp_worker_create");
    fhjob_check(job, ucp_worker_get_address(plain->worker, &address, &length),
                "ucp_worker_get_address");
    if (length > FHJOB_MAX_ADDRESS) {
        app_fatal("%s: an address of %zu bytes", job->name, length);
    }

    memcpy(job->shared->ucp_addresses[job->rank], address, length);
    ucp_worker_release_address(plain->worker, address);
    fhjob_barrier(job);
    fhjob_check(job, ucp_ep_create(plain->worker, &ep_params, &plain->ep),
                "ucp_ep_create");
}

void fhplain_close(fhplain_t *plain)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    if (plain->rkey != NULL) {
        ucp_rkey_destroy(plain->rkey);
    }
    fhplain_wait(plain, ucp_ep_close_nbx(plain->ep, &param));
    fhjob_barrier(plain->job);
    ucp_worker_destroy(plain->worker);
    if (plain->memh != NULL) {
        ucp_rkey_buffer_release(plain->key);
        fhjob_check(plain->job, ucp_mem_unmap(plain->job->context, plain->memh),
                    "ucp_mem_unmap");
    }
}

void fhplain_pin(fhplain_t *plain)
{
    fhjob_t *job = plain->job;
    size_t length;

    plain->memh = fhjob_map(job, job->memory, job->heap);
    fhjob_check(job, ucp_rkey_pack(job->context, plain->memh, &plain->key,
                                   &length), "ucp_rkey_pack");
    if (length > FHJOB_MAX_KEY) {
        app_fatal("%s: a key of %zu bytes", job->name, length);
    }

    memcpy(job->shared->keys[job->rank], plain->key, length);
}

void fhplain_unpack(fhplain_t *plain, int peer)
{
    fhjob_check(plain->job,
                ucp_ep_rkey_unpack(plain->ep, plain->job->shared->keys[peer],
                                   &plain->rkey), "ucp_ep_rkey_unpack");
}

int fhplain_has_ended(fhplain_t *plain, ucs_status_ptr_t request)
{
    ucs_status_t status = UCS_PTR_STATUS(request);

    if (UCS_PTR_IS_PTR(request)) {
        status = ucp_request_check_status(request);
        if (status == UCS_INPROGRESS) {
            return 0;
        }
        ucp_request_free(request);
    }

    fhjob_check(plain->job, status, "an operation");
    return 1;
}

void fhplain_wait(fhplain_t *plain, ucs_status_ptr_t request)
{
    while (!fhplain_has_ended(plain, request)) {
        if (ucp_worker_progress(plain->worker) == 0) {
            sched_yield();
        }
    }
}

void fhplain_flush(fhplain_t *plain)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    fhplain_wait(plain, ucp_ep_flush_nbx(plain->ep, &param));
}

void fhplain_serve(fhplain_t *plain, void (*function)(void *arg), void *arg)
{
    int idle = 0;

    while (!__atomic_load_n(&plain->job->shared->is_over, __ATOMIC_ACQUIRE)) {
        if (ucp_worker_progress(plain->worker) > 0) {
            idle = 0;
        } else if ((function == NULL) && (++idle > MAX_IDLE)) {
            usleep(NAP);
        } else {
            sched_yield();
        }
        if (function != NULL) {
            function(arg);
        }
    }
}

void fhplain_end_service(fhplain_t *plain)
{
    __atomic_store_n(&plain->job->shared->is_over, 1, __ATOMIC_RELEASE);
}
