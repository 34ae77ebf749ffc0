/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "mover.h"
#include "outbox.h"
#include "peer.h"

#include <ucp/firehose/wire/key.h>

#include <stdlib.h>


void ucp_fh_mover_post(ucp_fh_t *fh, ucp_fh_move_t *move)
{
    ucp_fh_sent_t *sent = malloc(sizeof(*sent));
    uint32_t slot       = move->peer;
    ucp_fh_parcel_t *parcel;

    parcel = ucp_fh_parcel_make(fh, slot, UCP_FH_MESSAGE_MOVE,
                                ucp_fh_move_size(move->num_unpins,
                                                 move->num_pins));
    if ((sent == NULL) || (parcel == NULL)) {
        goto err_fail_peer;
    }

    ucp_fh_move_write(parcel->data, move->num_unpins, move->num_pins,
                      move->buckets);
    sent->number = fh->links[slot].next_out;
    sent->move   = move;
    ucp_fh_outbox_post(fh, parcel);
    if (move->num_pins > 0) {
        ucs_list_add_tail(&fh->links[slot].sent, &sent->link);
    } else {
        free(sent);
        (void)ucp_fh_remote_moved(&fh->remote, move, UCS_OK, NULL);
    }
    return;

err_fail_peer:
    /* The table believes that it was sent */
    free(sent);
    free(parcel);
    (void)ucp_fh_remote_moved(&fh->remote, move, UCS_ERR_NO_MEMORY, NULL);
    ucp_fh_peer_give_up(fh, slot);
}

/* Take out what a reply answers. @return NULL if there is no such message */
static ucp_fh_sent_t *
take_sent(ucp_fh_t *fh, uint32_t slot, const ucp_fh_reply_message_t *reply)
{
    ucp_fh_sent_t *sent;

    ucs_list_for_each(sent, &fh->links[slot].sent, link) {
        if (sent->number == reply->move) {
            if (sent->move->num_pins != reply->num_pins) {
                return NULL;
            }
            ucs_list_del(&sent->link);
            return sent;
        }
    }

    return NULL;
}

static void free_answers(ucp_fh_answer_t *answers, uint32_t num)
{
    uint32_t i;

    for (i = 0; i < num; ++i) {
        ucp_fh_key_free(answers[i].key);
    }
    free(answers);
}

/* What a reply says, for the table. @return NULL if there is no memory */
static ucp_fh_answer_t *make_answers(const ucp_fh_reply_message_t *reply)
{
    ucp_fh_answer_t *answers = calloc(reply->num_pins + 1, sizeof(*answers));
    const uint8_t *cursor    = reply->pins;
    ucp_fh_reply_pin_t pin;
    const void *packed;
    uint32_t i;

    for (i = 0; (answers != NULL) && (i < reply->num_pins); ++i) {
        packed            = ucp_fh_reply_next_pin(&cursor, &pin);
        answers[i].status = pin.status;
        if (pin.status != UCS_OK) {
            continue;
        }

        answers[i].key = ucp_fh_key_make(pin.start, pin.end, packed, pin.length);
        if (answers[i].key == NULL) {
            free_answers(answers, i);
            return NULL;
        }
    }
    return answers;
}

/* Under lock. Takes what was sent, and the answers, whose keys the table may not
 * take */
static void answered(ucp_fh_t *fh, uint32_t slot, ucp_fh_sent_t *sent,
                     ucp_fh_answer_t *answers)
{
    uint32_t num        = sent->move->num_pins;
    ucs_status_t status = (answers == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;

    if (ucp_fh_remote_moved(&fh->remote, sent->move, status, answers) !=
        UCS_OK) {
        free_answers(answers, (answers == NULL) ? 0 : num);
    } else {
        free(answers);
        if (status != UCS_OK) {
            /* The peer believes that this process has got firehoses */
            ucp_fh_peer_give_up(fh, slot);
        }
    }
    free(sent);
}

ucs_status_t ucp_fh_mover_reply(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    ucp_fh_reply_message_t reply;
    ucp_fh_answer_t *answers;
    ucp_fh_sent_t *sent;
    ucs_status_t status;

    status = ucp_fh_reply_parse(parcel->data, parcel->length, &reply);
    if (status != UCS_OK) {
        return status;
    }

    answers = make_answers(&reply);
    ucp_fh_lock(fh);
    sent = take_sent(fh, parcel->slot, &reply);
    if (sent != NULL) {
        answered(fh, parcel->slot, sent, answers);
    } else {
        /* The peer may have failed meanwhile */
        status = fh->links[parcel->slot].status;
        status = (status == UCS_OK) ? UCS_ERR_INVALID_PARAM : UCS_OK;
        free_answers(answers, (answers == NULL) ? 0 : reply.num_pins);
    }
    ucp_fh_unlock(fh);
    return status;
}

/* Under lock: what was recalled is given back by moves */
static void recalled(ucp_fh_comp_t *self)
{
    free(ucs_container_of(self, ucp_fh_recall_t, comp));
}

ucs_status_t ucp_fh_mover_recall(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    ucp_fh_recall_message_t message;
    ucp_fh_recall_t *recall;
    ucp_fh_run_t run;
    ucs_status_t status;

    status = ucp_fh_recall_parse(parcel->data, parcel->length, &message);
    if (status != UCS_OK) {
        return status;
    }

    recall = malloc(sizeof(*recall));
    ucp_fh_lock(fh);
    if (recall == NULL) {
        ucp_fh_peer_give_up(fh, parcel->slot);
    } else {
        recall->comp.func = recalled;
        run.first         = message.first;
        run.num           = message.num;
        status = ucp_fh_remote_recall(&fh->remote, recall, parcel->slot, &run);
        if (status == UCS_OK) {
            free(recall);
        } else if (fh->reclaim != NULL) {
            fh->reclaim(fh, parcel->slot);
        }
    }
    ucp_fh_unlock(fh);
    return UCS_OK;
}
