/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core.h"

#include <stdlib.h>

void ucp_fh_mover_post(ucp_fh_t *fh, ucp_fh_move_t *move)
{
    uint32_t slot = move->peer;
    ucp_fh_parcel_t *parcel;

    parcel = ucp_fh_parcel_make(fh, slot, UCP_FH_MESSAGE_MOVE,
                                ucp_fh_move_size(move->num_unpins,
                                                 move->num_pins));
    if (parcel == NULL) {
        /* The table counts the move as sent, and has to be told of its end */
        (void)ucp_fh_remote_moved(&fh->remote, move, UCS_ERR_NO_MEMORY, NULL);
        ucp_fh_peer_give_up(fh, slot);
        return;
    }

    ucp_fh_move_write(parcel->data, move->num_unpins, move->num_pins,
                      move->buckets);
    ucp_fh_outbox_post(fh, parcel);
    if (move->num_pins > 0) {
        move->number = ucp_fh_parcel_header(parcel)->number;
        ucs_list_add_tail(&fh->links[slot].sent, &move->link);
    } else {
        (void)ucp_fh_remote_moved(&fh->remote, move, UCS_OK, NULL);
    }
}

/* Take the move that a reply answers out of ucp_fh_link_t::sent. @return the move, or
 * NULL if the reply answers none */
static ucp_fh_move_t *
take_sent(ucp_fh_t *fh, uint32_t slot, const ucp_fh_reply_message_t *reply)
{
    ucp_fh_move_t *move;

    ucs_list_for_each(move, &fh->links[slot].sent, link) {
        if (move->number == reply->move) {
            if (move->num_pins != reply->num_pins) {
                return NULL;
            }
            ucs_list_del(&move->link);
            return move;
        }
    }

    return NULL;
}

/* Make answers for the table of a reply. @return whether there was memory for all keys */
static int
make_answers(const ucp_fh_reply_message_t *reply, ucp_fh_answer_t *answers)
{
    const uint8_t *cursor = reply->pins;
    int has_all           = 1;
    ucp_fh_reply_pin_t pin;
    const void *packed;
    uint32_t i;

    for (i = 0; i < reply->num_pins; ++i) {
        packed            = ucp_fh_reply_next_pin(&cursor, &pin);
        answers[i].status = pin.status;
        if (pin.status != UCS_OK) {
            continue;
        }

        answers[i].key = ucp_fh_key_make(pin.start, pin.end, packed, pin.length);
        if (answers[i].key == NULL) {
            answers[i].status = UCS_ERR_NO_MEMORY;
            has_all           = 0;
        }
    }
    return has_all;
}

/* Under lock: hand the answers of a reply to the table, which frees the move */
static void answered(ucp_fh_t *fh, uint32_t slot, ucp_fh_move_t *move,
                     const ucp_fh_reply_message_t *reply)
{
    ucp_fh_answer_t *answers = calloc(reply->num_pins, sizeof(*answers));
    int has_all              = (answers != NULL) && make_answers(reply, answers);

    (void)ucp_fh_remote_moved(&fh->remote, move, (answers == NULL) ?
                              UCS_ERR_NO_MEMORY : UCS_OK, answers);
    free(answers);
    if (!has_all) {
        /* The peer counts the firehoses without a key as given to this process, and is
         * out of step */
        ucp_fh_peer_give_up(fh, slot);
    }
}

ucs_status_t ucp_fh_mover_reply(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    ucp_fh_reply_message_t reply;
    ucp_fh_move_t *move;
    ucs_status_t status;

    status = ucp_fh_reply_parse(parcel->data, parcel->length, &reply);
    if (status != UCS_OK) {
        return status;
    }

    ucp_fh_lock(fh);
    move = take_sent(fh, parcel->slot, &reply);
    if (move != NULL) {
        answered(fh, parcel->slot, move, &reply);
    } else if (fh->links[parcel->slot].status == UCS_OK) {
        status = UCS_ERR_INVALID_PARAM; /* If the peer has failed meanwhile, its moves are
                                           gone, and the reply is sound */
    }
    ucp_fh_unlock(fh);
    return status;
}

ucs_status_t ucp_fh_mover_recall(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    ucp_fh_run_t run;
    ucs_status_t status;

    status = ucp_fh_recall_parse(parcel->data, parcel->length, &run);
    if (status != UCS_OK) {
        return status;
    }

    ucp_fh_lock(fh);
    ucp_fh_remote_recall(&fh->remote, parcel->slot, &run);
    ucp_fh_unlock(fh);
    return UCS_OK;
}

/* @return the part of exposed memory that has a bucket; NULL: the part was withdrawn
 * meanwhile. @a before is the part of the last bucket of the reply, and mostly has this
 * bucket as well */
static const ucp_fh_part_t *
find_part(const ucp_fh_t *fh, ucp_fh_bucket_t bucket,
          const ucp_fh_part_t *before)
{
    ucp_fh_run_t run = {.first = bucket, .num = 1};

    return ((before != NULL) &&
            ucp_fh_run_has(&before->exposed.place.run, bucket)) ?
                   before : ucp_fh_part_find(fh, &run);
}

static size_t get_size(const ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    size_t size = ucp_fh_reply_size();
    const ucp_fh_handle_t *handle;
    const ucp_fh_reg_t *reg;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        reg    = ucp_fh_serve_reg(&fh->local, serve, i);
        handle = (reg == NULL) ? NULL : reg->handle;
        size  += ucp_fh_reply_pin_size((handle == NULL) ?
                                               0 : handle->packed_length);
    }

    return size;
}

/* Find the exposed bytes of a bucket, and write them into the answer: peers have to keep
 * within these bytes, since the key may reach further, to the ends of pages or of a local
 * pin */
static void clip(const ucp_fh_span_t *span, const ucp_fh_part_t *part,
                 ucp_fh_reply_pin_t *pin)
{
    pin->start = (part == NULL) ? span->end : ucs_max(span->start, part->start);
    pin->end   = (part == NULL) ? span->end : ucs_min(span->end, part->end);
}

static void
write_pins(const ucp_fh_t *fh, const ucp_fh_serve_t *serve, void *end)
{
    const ucp_fh_part_t *part = NULL;
    const ucp_fh_handle_t *handle;
    const ucp_fh_reg_t *reg;
    ucp_fh_reply_pin_t pin;
    ucs_status_t status;
    uint32_t i;

    for (i = 0; i < serve->num_pins; ++i) {
        reg = ucp_fh_serve_reg(&fh->local, serve, i);
        if (reg == NULL) {
            /* If the status is UCS_OK, the peer has given the bucket back before this
             * answer */
            status = serve->pins[i].comp.status;
            pin    = (ucp_fh_reply_pin_t){
                .status = (status == UCS_OK) ? UCS_ERR_CANCELED : status
            };
            ucp_fh_reply_write_pin(&end, &pin, NULL);
            continue;
        }

        handle     = reg->handle;
        part       = find_part(fh, reg->bucket, part);
        pin.status = UCS_OK;
        pin.length = handle->packed_length;
        clip(&reg->span, part, &pin);
        ucp_fh_reply_write_pin(&end, &pin, handle->packed);
    }
}

/* Answer a move of a peer. Under lock: no handle goes away before its key is written */
static void reply(ucp_fh_t *fh, const ucp_fh_serve_t *serve)
{
    ucp_fh_parcel_t *parcel;

    if (serve->num_pins == 0) {
        return;
    }

    parcel = ucp_fh_parcel_make(fh, serve->peer, UCP_FH_MESSAGE_REPLY,
                                get_size(fh, serve));
    if (parcel == NULL) {
        ucp_fh_peer_give_up(fh, serve->peer);
        return;
    }

    write_pins(fh, serve, ucp_fh_reply_write(parcel->data, serve->number,
                                             serve->num_pins));
    ++fh->num_answered;
    ucp_fh_outbox_post(fh, parcel);
}

/* Under lock: a move of a peer, which begin() could not answer at once, has ended */
static void served(ucp_fh_comp_t *self)
{
    ucp_fh_serve_t *serve = ucs_container_of(self, ucp_fh_serve_t, comp);

    if (self->status == UCS_OK) {
        reply(serve->arg, serve);
    }
    free(serve);
}

/* Under lock: begin to serve a move of a peer, and answer a move that has ended at once.
 * The move is freed, here or in served() */
static ucs_status_t begin(ucp_fh_t *fh, ucp_fh_serve_t *serve)
{
    ucs_status_t status = ucp_fh_local_serve(&fh->local, serve);

    if (status == UCS_INPROGRESS) {
        return UCS_OK;
    }

    if (status == UCS_OK) {
        reply(fh, serve);
    }
    free(serve);
    return (status == UCS_ERR_UNREACHABLE) ? UCS_OK : status;
}

ucs_status_t ucp_fh_target_move(ucp_fh_t *fh, const ucp_fh_parcel_t *parcel)
{
    ucp_fh_move_message_t message;
    ucp_fh_serve_t *serve;
    ucs_status_t status;

    status = ucp_fh_move_parse(parcel->data, parcel->length, &message);
    if (status != UCS_OK) {
        return status;
    }

    serve = ucp_fh_serve_make(parcel->slot, message.buckets, message.num_unpins,
                              message.buckets + message.num_unpins,
                              message.num_pins);
    ucp_fh_lock(fh);
    if (serve == NULL) {
        ucp_fh_peer_give_up(fh, parcel->slot);
        goto out_unlock;
    }

    serve->comp.func = served;
    serve->arg       = fh;
    serve->number    = ucp_fh_parcel_header(parcel)->number;
    status           = begin(fh, serve);
out_unlock:
    ucp_fh_unlock(fh);
    return status;
}

static void recall_from(ucp_fh_t *fh, uint32_t slot, const ucp_fh_run_t *run)
{
    ucp_fh_run_t part = {.first = run->first};
    ucp_fh_parcel_t *parcel;

    for (; part.first < ucp_fh_run_end(run); part.first += part.num) {
        part.num = ucs_min(ucp_fh_run_end(run) - part.first, UCP_FH_MAX_MOVE);
        parcel   = ucp_fh_parcel_make(fh, slot, UCP_FH_MESSAGE_RECALL,
                                      ucp_fh_recall_size());
        if (parcel == NULL) {
            ucp_fh_peer_give_up(fh, slot);
            return;
        }

        ucp_fh_recall_write(parcel->data, &part);
        ucp_fh_outbox_post(fh, parcel);
    }
}

void ucp_fh_target_recall(ucp_fh_t *fh, const ucp_fh_run_t *run)
{
    uint32_t slot;

    while ((slot = ucp_fh_local_next_holder(&fh->local)) != UCP_FH_LOCAL) {
        recall_from(fh, slot, run);
    }
}
