/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Puts and gets by rendezvous: each asks the peer, which pins just that memory
 * and answers with its key; and says when it is done. The peer then unpins the
 * memory or, with --keep, later: what is pinned the longest goes first where
 * share and maxvictim together have no room for more.
 */

#include "fhputs.h"

#include <stdlib.h>

/* Numbers of active messages */
enum {
    AM_ASK   = 1,
    AM_REPLY = 2,
    AM_DONE  = 3
};

/* What a slot of the first process waits for */
enum {
    STATE_REPLY,
    STATE_DATA,
    STATE_ARRIVAL, /* The flush of a put */
    STATE_TOLD,    /* The last message is on its way */
    STATE_ENDED
};

/* All messages, before the key of a reply */
typedef struct {
    uint64_t slot;
    uint64_t offset;
    uint64_t length; /* Of the memory, or of the key */
} note_t;


/* Memory that the peer has pinned: there is a place for each offset */
typedef struct {
    ucp_mem_h memh;
    void      *key;
    size_t    key_length;
    int       num_users;
} place_t;


/* A transfer of the first process */
typedef struct {
    note_t     note;
    ucp_rkey_h rkey;
    char       key[FHJOB_MAX_KEY]; /* As it has come */
    int        has_reply;
} transfer_t;


/* What the peer sends, a slot each */
typedef struct {
    note_t note;
    char   key[FHJOB_MAX_KEY];
} reply_t;


static struct {
    fhplain_t  plain;
    puts_t     *puts;
    transfer_t transfers[PUTS_MAX_WINDOW];
    reply_t    replies[PUTS_MAX_WINDOW];
    note_t     asked[PUTS_MAX_WINDOW]; /* Of the peer, to be answered */
    int        num_asked;
    place_t    *places;
    size_t     *queue;     /* Pinned places, a ring, the oldest first */
    size_t     queue_size;
    size_t     queue_first;
    size_t     queue_num;
    size_t     room;       /* Bytes that may stay pinned */
} rndv;


static void send_note(int id, const void *data, size_t length)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t request;

    request = ucp_am_send_nbx(rndv.plain.ep, id, NULL, 0, data, length, &param);
    if (UCS_PTR_IS_PTR(request)) {
        /* The data stay until the slot is used again, which is after an
         * answer */
        ucp_request_free(request);
    } else {
        fhjob_check(&rndv.puts->job, UCS_PTR_STATUS(request), "message");
    }
}

static size_t place_of(uint64_t offset)
{
    return offset / rndv.puts->align;
}

static void unpin(place_t *place)
{
    ucp_rkey_buffer_release(place->key);
    fhjob_check(&rndv.puts->job,
                ucp_mem_unmap(rndv.puts->job.context, place->memh), "unmap");
    place->memh = NULL;
}

/* Make room for one more, by unpinning the oldest that nobody uses */
static void make_room(void)
{
    size_t tries = rndv.queue_num;
    size_t index;

    while ((rndv.queue_num * rndv.puts->size > rndv.room) && (tries-- > 0)) {
        index             = rndv.queue[rndv.queue_first];
        rndv.queue_first  = (rndv.queue_first + 1) % rndv.queue_size;
        --rndv.queue_num;
        if (rndv.places[index].num_users == 0) {
            unpin(&rndv.places[index]);
        } else {
            rndv.queue[(rndv.queue_first + rndv.queue_num++) %
                       rndv.queue_size] = index;
        }
    }
}

static void pin(place_t *place, uint64_t offset, size_t length)
{
    fhjob_t *job = &rndv.puts->job;

    place->memh = fhjob_map(job, job->memory + offset, length);
    fhjob_check(job, ucp_rkey_pack(job->context, place->memh, &place->key,
                                   &place->key_length), "ucp_rkey_pack");
    if (place->key_length > FHJOB_MAX_KEY) {
        app_fatal("fhputs: a key of %zu bytes", place->key_length);
    }

    if (rndv.puts->keep) {
        rndv.queue[(rndv.queue_first + rndv.queue_num++) % rndv.queue_size] =
                place_of(offset);
        make_room();
    }
}

static void answer(const note_t *asked)
{
    place_t *place = &rndv.places[place_of(asked->offset)];
    reply_t *reply = &rndv.replies[asked->slot];

    ++place->num_users;
    if (place->memh == NULL) {
        pin(place, asked->offset, asked->length);
    }
    reply->note        = *asked;
    reply->note.length = place->key_length;
    memcpy(reply->key, place->key, place->key_length);
    send_note(AM_REPLY, reply, sizeof(reply->note) + place->key_length);
}

/* The peer, between two calls of its worker */
static void answer_all(void *arg)
{
    int i;

    for (i = 0; i < rndv.num_asked; ++i) {
        answer(&rndv.asked[i]);
    }
    rndv.num_asked = 0;
}

static ucs_status_t asked_for(void *arg, const void *header,
                              size_t header_length, void *data, size_t length,
                              const ucp_am_recv_param_t *param)
{
    /* A slot asks once, so that there is room for all */
    memcpy(&rndv.asked[rndv.num_asked++], data, sizeof(note_t));
    return UCS_OK;
}

static ucs_status_t done(void *arg, const void *header, size_t header_length,
                         void *data, size_t length,
                         const ucp_am_recv_param_t *param)
{
    const note_t *note = data;
    place_t *place     = &rndv.places[place_of(note->offset)];

    --place->num_users;
    if (!rndv.puts->keep && (place->num_users == 0)) {
        unpin(place);
    }
    return UCS_OK;
}

static ucs_status_t replied(void *arg, const void *header, size_t header_length,
                            void *data, size_t length,
                            const ucp_am_recv_param_t *param)
{
    const note_t *note   = data;
    transfer_t *transfer = &rndv.transfers[note->slot];

    memcpy(transfer->key, note + 1, note->length);
    transfer->has_reply = 1;
    return UCS_OK;
}

static void set_handler(int id, ucp_am_recv_callback_t function)
{
    ucp_am_handler_param_t param = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                      UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id         = id,
        .flags      = UCP_AM_FLAG_WHOLE_MSG,
        .cb         = function
    };

    fhjob_check(&rndv.puts->job,
                ucp_worker_set_am_recv_handler(rndv.plain.worker, &param),
                "handler");
}

static void *allocate(size_t number, size_t size)
{
    void *memory = calloc(number, size);

    if (memory == NULL) {
        app_fatal("fhputs: no memory");
    }
    return memory;
}

static void rndv_open(puts_t *puts)
{
    size_t places = (puts->job.heap / puts->align) + 1;

    rndv.puts = puts;
    fhplain_open(&rndv.plain, &puts->job, 1 - puts->job.rank);
    set_handler(AM_ASK, asked_for);
    set_handler(AM_REPLY, replied);
    set_handler(AM_DONE, done);
    rndv.room       = puts->job.share + puts->job.max_victim;
    rndv.queue_size = places + PUTS_MAX_WINDOW;
    rndv.queue      = allocate(rndv.queue_size, sizeof(*rndv.queue));
    rndv.places     = allocate(places, sizeof(*rndv.places));
}

static void rndv_serve(puts_t *puts)
{
    fhplain_serve(&rndv.plain, answer_all, NULL);
}

static void rndv_begin(puts_t *puts, puts_slot_t *slot)
{
    uint32_t index       = slot - puts->slots;
    transfer_t *transfer = &rndv.transfers[index];

    transfer->has_reply = 0;
    transfer->note      = (note_t){
        .slot = index, .offset = slot->offset, .length = puts->size
    };
    slot->state         = STATE_REPLY;
    send_note(AM_ASK, &transfer->note, sizeof(transfer->note));
}

static void transfer_data(puts_t *puts, puts_slot_t *slot, transfer_t *transfer)
{
    ucp_request_param_t param = fhjob_param(puts->memh);
    uint64_t remote           = puts->job.shared->bases[1] + slot->offset;
    ucp_ep_h ep               = rndv.plain.ep;

    fhjob_check(&puts->job, ucp_ep_rkey_unpack(ep, transfer->key,
                                               &transfer->rkey), "unpack");
    slot->request = puts->gets ?
        ucp_get_nbx(ep, slot->buffer, puts->size, remote, transfer->rkey,
                    &param) :
        ucp_put_nbx(ep, slot->buffer, puts->size, remote, transfer->rkey,
                    &param);
    slot->state   = STATE_DATA;
}

/* @return whether something has happened to a transfer, so that more may */
static int advance(puts_t *puts, puts_slot_t *slot)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    transfer_t *transfer      = &rndv.transfers[slot - puts->slots];

    switch (slot->state) {
    case STATE_REPLY:
        if (!transfer->has_reply) {
            return 0;
        }
        transfer_data(puts, slot, transfer);
        return 1;
    case STATE_DATA:
        if (!fhplain_has_ended(&rndv.plain, slot->request)) {
            return 0;
        }
        slot->request = puts->gets ? NULL :
                                     ucp_ep_flush_nbx(rndv.plain.ep, &param);
        slot->state   = STATE_ARRIVAL;
        return 1;
    case STATE_ARRIVAL:
        if (!fhplain_has_ended(&rndv.plain, slot->request)) {
            return 0;
        }
        ucp_rkey_destroy(transfer->rkey);
        slot->request = ucp_am_send_nbx(rndv.plain.ep, AM_DONE, NULL, 0,
                                        &transfer->note,
                                        sizeof(transfer->note), &param);
        slot->state   = STATE_TOLD;
        return 1;
    case STATE_TOLD:
        if (!fhplain_has_ended(&rndv.plain, slot->request)) {
            return 0;
        }
        slot->state = STATE_ENDED;
        return 1;
    default:
        return 0;
    }
}

static unsigned rndv_progress(puts_t *puts)
{
    unsigned count = ucp_worker_progress(rndv.plain.worker);
    int i;

    for (i = 0; i < puts->window; ++i) {
        while (puts->slots[i].is_busy && advance(puts, &puts->slots[i])) {
            ++count;
        }
    }
    return count;
}

static int rndv_has_ended(puts_t *puts, puts_slot_t *slot)
{
    return slot->state == STATE_ENDED;
}

static void rndv_flush(puts_t *puts)
{
    fhplain_flush(&rndv.plain);
}

static void rndv_end(puts_t *puts)
{
    fhplain_end_service(&rndv.plain);
}

static void rndv_close(puts_t *puts)
{
    size_t i;

    /* The last messages may come meanwhile, which unpin what they are about */
    fhplain_close(&rndv.plain);
    for (i = 0; i <= place_of(puts->job.heap); ++i) {
        if (rndv.places[i].memh != NULL) {
            unpin(&rndv.places[i]);
        }
    }
    free(rndv.places);
    free(rndv.queue);
}

const puts_scheme_t puts_rendezvous = {
    .name      = "rendezvous",
    .open      = rndv_open,
    .serve     = rndv_serve,
    .begin     = rndv_begin,
    .has_ended = rndv_has_ended,
    .progress  = rndv_progress,
    .flush     = rndv_flush,
    .end       = rndv_end,
    .close     = rndv_close
};
