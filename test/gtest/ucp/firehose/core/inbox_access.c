/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "inbox_access.h"

#include <common/touched.h>

/* It is in a library that needs UCP */
#define ucp_worker_progress test_worker_progress

#include <ucp/firehose/core/drive.c>


/* The message that was taken last */
static ucp_fh_parcel_t *taken;


void ucp_fh_peer_look(ucp_fh_t *fh, ucp_fh_link_t *link)
{
    if (ucs_list_is_empty(&link->mail)) {
        ucs_list_add_tail(&fh->mail, &link->mail);
    }
}

/* The other calls of that file: none happens here */

unsigned ucp_worker_progress(ucp_worker_h worker)
{
    abort();
}

ucs_status_t ucp_fh_connect(ucp_fh_h fh, uint32_t peer, const void *address,
                            size_t length)
{
    abort();
}

ucs_status_t ucp_fh_target_move(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    abort();
}

ucs_status_t ucp_fh_mover_reply(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    abort();
}

ucs_status_t ucp_fh_mover_recall(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    abort();
}

void ucp_fh_settle(ucp_fh_t *fh)
{
    abort();
}

void ucp_fh_peer_fail(ucp_fh_t *fh, uint32_t slot, ucs_status_t status)
{
    abort();
}

void ucp_fh_peer_damaged(ucp_fh_t *fh, uint32_t slot)
{
    abort();
}

void ucp_fh_peer_give_up(ucp_fh_t *fh, uint32_t slot)
{
    abort();
}

void ucp_fh_wake(ucp_fh_t *fh)
{
    abort();
}

test_inbox_t *test_inbox_make(uint32_t num_procs)
{
    ucp_fh_t *fh = calloc(1, sizeof(*fh));
    uint32_t i;

    fh->num_procs = num_procs;
    fh->links     = calloc(num_procs, sizeof(*fh->links));
    ucs_mutex_init(&fh->lock, UCS_RANK_FH, 0);
    ucs_list_head_init(&fh->mail);
    ucs_list_head_init(&fh->remote.ended);
    ucs_list_head_init(&fh->local.ended);
    for (i = 0; i < num_procs; ++i) {
        ucs_list_head_init(&fh->links[i].inbox);
        ucs_list_head_init(&fh->links[i].mail);
        fh->links[i].ep = (ucp_ep_h)(uintptr_t)1;
    }
    return fh;
}

void test_inbox_free(test_inbox_t *fh)
{
    uint32_t i;

    free(taken);
    taken = NULL;
    for (i = 0; i < fh->num_procs; ++i) {
        while (!ucs_list_is_empty(&fh->links[i].inbox)) {
            free(ucs_list_extract_head(&fh->links[i].inbox, ucp_fh_parcel_t, link));
        }
    }
    ucs_mutex_destroy(&fh->lock);
    free(fh->spare);
    free(fh->links);
    free(fh);
}

void test_inbox_receive(test_inbox_t *fh, uint32_t sender, uint64_t number)
{
    ucp_am_recv_param_t param = {};
    ucp_fh_header_t header    = {
        .magic   = UCP_FH_MESSAGE_MAGIC,
        .version = UCP_FH_MESSAGE_VERSION,
        .type    = UCP_FH_MESSAGE_BYE,
        .sender  = sender,
        .number  = number
    };

    (void)ucp_fh_inbox_receive(fh, NULL, 0, &header, sizeof(header), &param);
}

uint32_t test_inbox_next(test_inbox_t *fh, uint64_t *number_p)
{
    free(taken);
    taken = inbox_next(fh);
    if (taken == NULL) {
        return UINT32_MAX;
    }

    *number_p = number_of(taken);
    return taken->slot;
}

void test_inbox_put_back(test_inbox_t *fh)
{
    inbox_put_back(fh, taken);
    taken = NULL;
}

void test_inbox_count(test_inbox_t *fh)
{
    test_touched_start(fh->links, fh->num_procs * sizeof(*fh->links));
}
