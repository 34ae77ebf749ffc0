/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "outbox.h"

#include <stdlib.h>
#include <unistd.h>


void ucp_fh_wake(ucp_fh_t *fh)
{
    uint64_t one = 1;
    ssize_t ret;

    /* It fails only if the thread has been woken 2^64 - 2 times and has not
     * looked */
    ret = write(fh->wake_fd, &one, sizeof(one));
    (void)ret;
}

void ucp_fh_outbox_post(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_fh_header_t *header = (ucp_fh_header_t*)parcel->data;

    header->number = fh->links[parcel->slot].next_out++;
    ucs_list_add_tail(&fh->outbox, &parcel->link);
}

/* Called by UCP under send_lock */
static void sent(void *request, ucs_status_t status, void *user_data)
{
    /* If it was lost, the endpoint's error handler is called as well */
    ucp_request_free(request);
    free(user_data);
}

ucs_status_t ucp_fh_outbox_send(ucp_fh_t *fh, ucp_fh_parcel_t *parcel)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS,
        .flags        = UCP_AM_SEND_FLAG_EAGER,
        .cb.send      = sent,
        .user_data    = parcel
    };
    ucs_status_ptr_t request;
    int is_armed;

    ucs_mutex_lock(&fh->send_lock);
    request = ucp_am_send_nbx(fh->links[parcel->slot].ep, UCP_FH_AM_ID, NULL, 0,
                              parcel->data, parcel->length, &param);
    is_armed      = fh->is_armed;
    fh->has_acted = 1;
    ucs_mutex_unlock(&fh->send_lock);

    /* The library's thread sleeps, since the worker had nothing to do */
    if (is_armed) {
        ucp_fh_wake(fh);
    }
    if (UCS_PTR_IS_PTR(request)) {
        return UCS_OK;
    }

    free(parcel);
    return UCS_PTR_STATUS(request);
}
