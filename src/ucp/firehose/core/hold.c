/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <stdlib.h>

/* Pins of the program */

struct ucp_fh_hold {
    ucp_fh_t              *fh;
    int                   is_local;
    unsigned              shift;   /* Remote: logarithm of a bucket's size */
    union {
        ucp_fh_comp_t     comp;    /* First member of both */
        ucp_fh_pin_t      pin;     /* Local */
        ucp_fh_request_t  request; /* Remote */
    };
    ucp_fh_call_t         call;
    ucp_fh_pin_callback_t callback; /* NULL: a thread waits for the pin */
    void                  *arg;
};


/* In place of the number of a peer: memory of this process. No peer has this number, see
 * MAX_PROCS in params.c */
#define LOCAL UINT32_MAX


static void call_back(ucp_fh_call_t *self)
{
    ucp_fh_hold_h hold = ucs_container_of(self, struct ucp_fh_hold, call);

    if (hold->comp.status == UCS_OK) {
        hold->callback(hold, UCS_OK, hold->arg);
    } else {
        hold->callback(NULL, hold->comp.status, hold->arg);
        free(hold);
    }
}

/* Under lock: a pin has ended after a wait */
static void ended(ucp_fh_comp_t *self)
{
    ucp_fh_hold_h hold = ucs_container_of(self, struct ucp_fh_hold, comp);

    if (!hold->is_local && (self->status == UCS_OK)) {
        ucp_fh_remote_hold(&hold->request, 1);
    }
    if (hold->callback == NULL) {
        pthread_cond_broadcast(&hold->fh->cond);
    } else {
        hold->call.func = call_back;
        ucs_list_add_tail(&hold->fh->calls, &hold->call.link);
    }
}

static ucp_fh_hold_h
make_hold(ucp_fh_t *fh, int is_local, ucp_fh_pin_callback_t callback, void *arg)
{
    ucp_fh_hold_h hold = calloc(1, sizeof(*hold));

    if (hold != NULL) {
        hold->fh        = fh;
        hold->is_local  = is_local;
        hold->callback  = callback;
        hold->arg       = arg;
        hold->comp.func = ended;
    }
    return hold;
}

/* Under lock */
static ucs_status_t
begin_local(ucp_fh_hold_h hold, ucp_fh_form_t form, uint64_t address, size_t length)
{
    ucp_fh_span_t span;
    ucs_status_t status;

    status = ucp_fh_span_pages(address, length, &span);
    if (status != UCS_OK) {
        return status;
    }

    return ucp_fh_local_pin(&hold->fh->local, &hold->pin, &span, form);
}

/* Under lock */
static ucs_status_t
begin_remote(ucp_fh_hold_h hold, ucp_fh_form_t form, uint32_t peer, uint64_t address,
             size_t length)
{
    ucp_fh_t *fh           = hold->fh;
    ucp_fh_remote_t *table = &fh->remote;
    ucp_fh_run_t run;
    ucs_status_t status;

    if (peer >= fh->num_procs) {
        return UCS_ERR_INVALID_PARAM;
    }

    if (fh->links[peer].ep == NULL) {
        return UCS_ERR_NOT_CONNECTED;
    }

    hold->shift = fh->links[peer].shift;
    status      = ucp_fh_run_cover(hold->shift, address, length, &run);
    if (status != UCS_OK) {
        return status;
    }

    status = (form == UCP_FH_FORM_WAIT) ?
                     ucp_fh_remote_acquire(table, &hold->request, peer, &run) :
                     ucp_fh_remote_try(table, &hold->request, peer, &run, form);
    if (status == UCS_OK) {
        ucp_fh_remote_hold(&hold->request, 1);
    }
    return status;
}

/* Wait until a pin has ended. @return its status */
static ucs_status_t wait(ucp_fh_t *fh, ucp_fh_hold_h hold)
{
    ucs_status_t status;

    ucp_fh_lock(fh);
    while (hold->comp.status == UCS_INPROGRESS) {
        ucs_mutex_wait(&fh->lock, &fh->cond);
    }
    status = hold->comp.status;
    ucp_fh_unlock(fh);
    return status;
}

/* Begin a pin, and wait for its end if there is no callback. With a callback and
 * UCS_INPROGRESS, the callback may have released *hold_p before this function returns.
 *
 * @param peer  LOCAL: a pin of memory of this process. */
static ucs_status_t
pin(ucp_fh_h fh, ucp_fh_form_t form, uint32_t peer, uint64_t address, size_t length,
    ucp_fh_pin_callback_t callback, void *arg, ucp_fh_hold_h *hold_p)
{
    ucp_fh_hold_h hold = make_hold(fh, peer == LOCAL, callback, arg);
    ucs_status_t status;

    if (hold == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    *hold_p = hold; /* Set before another thread can call the callback */
    ucp_fh_lock(fh);
    status = (peer == LOCAL) ? begin_local(hold, form, address, length) :
                               begin_remote(hold, form, peer, address, length);
    ucp_fh_unlock(fh);

    if (status == UCS_INPROGRESS) {
        ucp_fh_settle(fh);
        if (callback == NULL) {
            status = wait(fh, hold);
        }
    }
    if (status < 0) {
        free(hold);
    }
    return status;
}

ucs_status_t ucp_fh_pin_local(ucp_fh_h fh, const void *address, size_t length,
                              ucp_fh_pin_callback_t callback, void *arg,
                              ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_WAIT, LOCAL, (uintptr_t)address, length, callback, arg, hold_p);
}

ucs_status_t ucp_fh_try_pin_local(ucp_fh_h fh, const void *address,
                                  size_t length, ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_TRY, LOCAL, (uintptr_t)address, length, NULL, NULL, hold_p);
}

ucs_status_t ucp_fh_partial_pin_local(ucp_fh_h fh, const void *address,
                                      size_t length, ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_PARTIAL, LOCAL, (uintptr_t)address, length, NULL, NULL, hold_p);
}

ucs_status_t ucp_fh_pin_remote(ucp_fh_h fh, uint32_t peer, uint64_t address,
                               size_t length, ucp_fh_pin_callback_t callback,
                               void *arg, ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_WAIT, peer, address, length, callback, arg, hold_p);
}

ucs_status_t ucp_fh_try_pin_remote(ucp_fh_h fh, uint32_t peer,
                                   uint64_t address, size_t length,
                                   ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_TRY, peer, address, length, NULL, NULL, hold_p);
}

ucs_status_t ucp_fh_partial_pin_remote(ucp_fh_h fh, uint32_t peer,
                                       uint64_t address, size_t length,
                                       ucp_fh_hold_h *hold_p)
{
    return pin(fh, UCP_FH_FORM_PARTIAL, peer, address, length, NULL, NULL, hold_p);
}

void ucp_fh_hold_query(ucp_fh_hold_h hold, ucp_fh_hold_attr_t *attr)
{
    const ucp_fh_handle_t *handle;
    ucp_fh_span_t span;

    span          = hold->is_local ?
                            hold->pin.span :
                            ucp_fh_span_of(hold->shift, &hold->request.run);
    attr->address = span.start;
    attr->length  = span.end - span.start;
    attr->memh    = NULL;
    if (!hold->is_local) {
        return;
    }

    ucp_fh_lock(hold->fh);
    handle     = ucp_fh_local_handle(&hold->fh->local, &hold->pin);
    attr->memh = (handle == NULL) ? NULL : handle->memh;
    ucp_fh_unlock(hold->fh);
}

void ucp_fh_release(ucp_fh_hold_h hold)
{
    ucp_fh_t *fh = hold->fh;
    int is_unsettled;

    ucp_fh_lock(fh);
    if (hold->is_local) {
        ucp_fh_local_release(&fh->local, &hold->pin);
    } else {
        ucp_fh_remote_hold(&hold->request, 0);
        ucp_fh_remote_release(&fh->remote, &hold->request);
    }
    is_unsettled = ucp_fh_is_unsettled(fh);
    ucp_fh_unlock(fh);
    if (is_unsettled) {
        ucp_fh_settle(fh);
    }
    free(hold);
}
