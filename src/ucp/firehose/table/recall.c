/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "acquire.h"


/* An entry that is in use or pending goes when nobody uses it. All recalls
 * under way that its bucket is in are told then, so that all have to count
 * it */
static void mark_recalled(ucp_fh_recall_t *recall, ucp_fh_entry_t *entry)
{
    ucp_fh_recall_t *other;

    if (entry->is_recalled) {
        ++recall->num_left;
        return;
    }

    entry->is_recalled = 1;
    ucs_list_for_each(other, &entry->peer->recalls, link) {
        other->num_left += ucp_fh_run_has(&other->run, entry->bucket);
    }
}

static void recall_entry(ucp_fh_recall_t *recall, ucp_fh_entry_t *entry)
{
    if (entry->state == UCP_FH_ENTRY_UNCOMMITTED) {
        return; /* The peer does not know of it yet */
    }

    if (entry->owner != NULL) {
        ucp_fh_request_roll_back(entry->owner);
    }

    if ((entry->state == UCP_FH_ENTRY_PRESENT) && (entry->uses == 0)) {
        ucp_fh_entry_give_back(entry);
    } else {
        mark_recalled(recall, entry);
    }
}

ucs_status_t
ucp_fh_remote_recall(ucp_fh_remote_t *table, ucp_fh_recall_t *recall,
                     uint32_t peer_index, const ucp_fh_run_t *run)
{
    ucp_fh_peer_t *peer = &table->peers[peer_index];
    ucs_status_t status = UCS_INPROGRESS;
    ucp_fh_entry_t *entry;
    uint64_t i;

    if (peer->status != UCS_OK) {
        return UCS_OK;
    }

    /* One more than there are, so that it does not end while they are
     * counted */
    recall->run      = *run;
    recall->num_left = 1;
    ucs_list_add_tail(&peer->recalls, &recall->link);
    for (i = 0; i < run->num; ++i) {
        entry = ucp_fh_entry_find(peer, run->first + i);
        if (entry != NULL) {
            recall_entry(recall, entry);
        }
    }

    if (--recall->num_left == 0) {
        ucs_list_del(&recall->link);
        status = UCS_OK;
    }

    /* What was given back may be what others wait for */
    ucp_fh_acquire_settle(peer);
    return status;
}
