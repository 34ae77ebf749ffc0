/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "access.h"

#include <stdlib.h>

/* The parameters of the program that the library hands to UCP as they are */
#define PASSED (UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_MEMORY_TYPE | \
                UCP_OP_ATTR_FIELD_MEMH | UCP_OP_ATTR_FIELD_REPLY_BUFFER | \
                UCP_OP_ATTR_FLAG_FAST_CMPL | UCP_OP_ATTR_FLAG_MULTI_SEND)

/* The parameters of the program that name its callback and the callback's argument */
#define TOLD (UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA)

/* The bit that marks the request of an operation, see access.h */
#define OP_BIT ((uintptr_t)1)


/* The piece of an operation */
typedef struct ucp_fh_op_piece {
    ucp_fh_piece_t super;
    ucp_fh_op_t    *op;
    atomic_uint    pending; /* Of a read: requests of UCP under way, and one more until all
                               chunks of the piece are posted */
} op_piece_t;


/* Requests of the program */

ucs_status_t ucp_fh_op_check_param(const ucp_request_param_t *param)
{
    if (param->op_attr_mask & ~(uint32_t)(PASSED | TOLD)) {
        return UCS_ERR_UNSUPPORTED;
    }

    /* A local pin of several buckets has the handle NULL, which ends the program in UCP
     * from 1.16 on (an assertion) */
    return ((param->op_attr_mask & UCP_OP_ATTR_FIELD_MEMH) &&
            (param->memh == NULL)) ? UCS_ERR_INVALID_PARAM : UCS_OK;
}

ucp_fh_op_t *
ucp_fh_op_make(ucp_fh_worker_h worker, const ucp_request_param_t *param)
{
    ucp_fh_op_t *op = malloc(sizeof(*op));

    if (op == NULL) {
        return NULL;
    }

    op->worker = worker;
    op->way    = NULL;
    op->posted = 0;
    ucp_fh_param_copy(&op->param, param, PASSED);
    ucp_fh_param_copy(&op->told, param, TOLD);
    atomic_init(&op->state, 0);
    atomic_init(&op->pending, 1);
    atomic_init(&op->error, UCS_OK);
    atomic_init(&op->result, UCS_INPROGRESS);
    return op;
}

/* Note an error, unless the operation has an error already */
static void note(ucp_fh_op_t *op, ucs_status_t status)
{
    int none = UCS_OK;

    if (status != UCS_OK) {
        (void)atomic_compare_exchange_strong(&op->error, &none, status);
    }
}

static void *to_request(ucp_fh_op_t *op)
{
    return UCS_PTR_BYTE_OFFSET(op, OP_BIT);
}

/* @return the operation of a request of the program; NULL: the request is UCP's */
static ucp_fh_op_t *to_op(void *request)
{
    return ((uintptr_t)request & OP_BIT) ?
                   (ucp_fh_op_t*)((uintptr_t)request & ~OP_BIT) : NULL;
}

/* Set a flag of an operation. Acquire and release: of two threads that set flags, the later
 * one sees all writes of the earlier one. @return the flags before */
static unsigned set_flag(ucp_fh_op_t *op, unsigned flag)
{
    return atomic_fetch_or_explicit(&op->state, flag, memory_order_acq_rel);
}

/* Call the callback of the program, if there is one and @a is_wanted is set. The
 * operation may be freed afterwards */
static void tell(ucp_fh_op_t *op, int is_wanted)
{
    const ucp_request_param_t *told = &op->told;

    if ((told->op_attr_mask & UCP_OP_ATTR_FIELD_CALLBACK) && is_wanted) {
        told->cb.send(to_request(op),
                      ucs_relaxed_load(&op->result),
                      (told->op_attr_mask & UCP_OP_ATTR_FIELD_USER_DATA) ?
                              told->user_data : NULL);
    }

    if (set_flag(op, UCP_FH_OP_TOLD) & UCP_FH_OP_FREED) {
        free(op);
    }
}

/* Count a request of op->pending as ended. @return whether it was the last one. If the
 * number is 1, the caller's request is the only one, and no other thread changes the
 * number. Acquire and release: the thread with the last request sees what the threads
 * with the other requests wrote */
static int is_last_request(ucp_fh_op_t *op)
{
    return (atomic_load_explicit(&op->pending, memory_order_acquire) == 1) ||
           (atomic_fetch_sub_explicit(&op->pending, 1,
                                      memory_order_acq_rel) == 1);
}

/* One of the requests of UCP that op->pending counts has ended, and with the last one the
 * operation ends. If the program already has the ucp_fh_op_t, the program's callback is
 * called then, and the operation may be freed afterwards */
static void end_request(ucp_fh_op_t *op, ucs_status_t status)
{
    int is_freed;

    note(op, status);
    if (!is_last_request(op)) {
        return;
    }

    /* Read before the result is set: a program that sees the result and then frees the
     * request gets its callback nevertheless. Relaxed: if another thread frees the
     * request at this very moment, the callback may be called or not */
    is_freed = ucs_relaxed_load(&op->state) & UCP_FH_OP_FREED;

    /* Release: a program that sees the result of a get also sees the bytes in its
     * buffer */
    atomic_store_explicit(&op->result,
                          ucs_relaxed_load(&op->error),
                          memory_order_release);
    if (set_flag(op, UCP_FH_OP_ENDED) & UCP_FH_OP_RETURNED) {
        tell(op, !is_freed);
    }
}

/* End the call of the program, whose thread has posted what it could. @return what the
 * program gets: the request, or the result if the operation has ended */
static ucs_status_ptr_t to_program(ucp_fh_op_t *op)
{
    ucs_status_t result;

    /* The flags decide, and not the result: the thread that has written the result uses the
     * operation until that thread has set UCP_FH_OP_ENDED */
    if (!(set_flag(op, UCP_FH_OP_RETURNED) & UCP_FH_OP_ENDED)) {
        return to_request(op);
    }

    result = ucs_relaxed_load(&op->result);
    free(op);
    return UCS_STATUS_PTR(result);
}

ucs_status_t ucp_fh_request_check_status(void *request)
{
    ucp_fh_op_t *op = to_op(request);

    /* Acquire: see end_request() */
    return (op == NULL) ? ucp_request_check_status(request) :
                          atomic_load_explicit(&op->result,
                                               memory_order_acquire);
}

void ucp_fh_request_free(void *request)
{
    ucp_fh_op_t *op = to_op(request);

    if (op == NULL) {
        ucp_request_free(request);
    } else if (set_flag(op, UCP_FH_OP_FREED) & UCP_FH_OP_TOLD) {
        free(op);
    }
}


/* Puts, gets and atomics, piece by piece */

static int is_write(const ucp_fh_op_t *op)
{
    return ucp_fh_is_write(op->access.kind, &op->param);
}

/* Count piece->pending of a read down by one: a request of UCP has ended, or all chunks
 * of the piece are posted. At 0 no request reads through the piece any more: release its
 * firehoses */
static void end_part_of_piece(op_piece_t *piece)
{
    ucp_fh_t *fh = piece->op->worker->fh;
    ucs_list_link_t pieces;

    if (atomic_fetch_sub(&piece->pending, 1) == 1) {
        ucs_list_head_init(&pieces);
        ucs_list_add_tail(&pieces, &piece->super.link);
        ucp_fh_lock(fh);
        ucp_fh_pieces_release(fh, &pieces);
        ucp_fh_unlock(fh);
    }
}

static void has_written(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    end_request(user_data, status);
}

static void has_read(void *request, ucs_status_t status, void *user_data)
{
    op_piece_t *piece = user_data;
    ucp_fh_op_t *op   = piece->op;

    ucp_request_free(request);
    end_part_of_piece(piece);
    end_request(op, status);
}

static ucs_status_t
post_chunk(ucp_fh_op_t *op, op_piece_t *piece, const ucp_fh_chunk_t *chunk)
{
    const ucp_fh_access_t *access = &op->access;
    ucp_request_param_t param     = op->param;
    size_t count                  = (access->kind == UCP_FH_OP_ATOMIC) ?
                                            1 : chunk->length;
    ucs_status_ptr_t request;

    param.op_attr_mask |= TOLD;
    param.cb.send       = is_write(op) ? has_written : has_read;
    param.user_data     = is_write(op) ? (void*)op : (void*)piece;
    atomic_fetch_add(&op->pending, 1);
    atomic_fetch_add(&piece->pending, 1);
    request     = ucp_fh_post(op->way->ep, access, op->posted, count, chunk->rkey,
                              &param);
    op->posted += chunk->length;
    if (is_write(op) || !UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&piece->pending, 1); /* Not to 0: post_piece() counts as 1 */
    }
    if (!UCS_PTR_IS_PTR(request)) {
        atomic_fetch_sub(&op->pending, 1); /* Not to 0: begin_pieces() counts as 1 */
    }
    return UCS_PTR_IS_ERR(request) ? UCS_PTR_STATUS(request) : UCS_OK;
}

/* Post the chunks of a piece until one fails or all are posted. @return the error, or
 * UCS_OK */
static ucs_status_t
post_chunks(ucp_fh_op_t *op, op_piece_t *piece, ucp_fh_chunk_t *chunk)
{
    const ucp_fh_run_t *run = &piece->super.request.run;
    ucp_fh_t *fh            = op->worker->fh;
    uint64_t num            = 0;
    ucs_status_t status;

    for (;;) {
        status = ucp_fh_chunk_open(fh, &piece->super, NULL, op->access.remote + op->posted,
                                   op->access.length - op->posted, is_write(op), chunk);
        if (status != UCS_OK) {
            return status;
        }

        status = post_chunk(op, piece, chunk);
        if ((status != UCS_OK) || (++num == run->num)) {
            return status;
        }

        ucp_fh_piece_find(fh, &piece->super, op->access.remote + op->posted, chunk);
    }
}

static void post_piece(ucp_fh_op_t *op, op_piece_t *piece, ucp_fh_chunk_t *chunk)
{
    note(op, post_chunks(op, piece, chunk));
    if (is_write(op)) {
        ucp_fh_piece_keep(op->worker->fh, &piece->super);
    } else {
        end_part_of_piece(piece);
    }
}

/* Under lock: a piece was granted or has failed. A thread that may use the worker goes on
 * with its operation later; if any thread may, the library's thread is woken to do so */
static void piece_ended(ucp_fh_comp_t *self)
{
    op_piece_t *piece      = ucs_container_of(self, op_piece_t, super.request.comp);
    ucp_fh_worker_h worker = piece->op->worker;

    ucs_list_add_tail(&worker->ready, &piece->op->ready);
    if (worker->is_multi) {
        ucp_fh_wake(worker->fh);
    }
}

static op_piece_t *make_piece(ucp_fh_op_t *op)
{
    op_piece_t *piece = malloc(sizeof(*piece));

    if (piece != NULL) {
        piece->op                      = op;
        piece->super.request.comp.func = piece_ended;
        atomic_init(&piece->pending, 1);
    }
    return piece;
}

/* Ask for the next piece: for all that is left of the operation, if the peer grants as
 * many firehoses. A thread that asked for one part after the other would queue up for
 * each part, and threads without a processor would fall behind (fairness, section 5 of
 * the paper). But while remote pins hold firehoses of the peer, ask for a part only: a
 * pin may be this thread's own, and its firehoses would be waited for in vain.
 * @return UCS_INPROGRESS: another thread may go on with the operation already */
static ucs_status_t begin_piece(ucp_fh_op_t *op)
{
    ucp_fh_t *fh      = op->worker->fh;
    op_piece_t *piece = make_piece(op);
    ucp_fh_chunk_t chunk;
    ucs_status_t status;
    ucp_fh_run_t run;

    if (piece == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    ucp_fh_lock(fh);
    run       = ucp_fh_way_run(fh, op->way, op->access.remote + op->posted,
                               op->access.length - op->posted,
                               fh->remote.peers[op->way->peer].num_holds == 0);
    op->piece = piece;
    status    = ucp_fh_piece_acquire(fh, &piece->super, op->way, &run, &chunk);
    ucp_fh_unlock(fh);

    if (ucs_likely(status == UCS_OK)) {
        post_piece(op, piece, &chunk);
    } else if (status != UCS_INPROGRESS) {
        ucp_fh_piece_free(&piece->super);
    }
    return status;
}

/* Begin pieces until all bytes are posted, something fails, or the operation has to wait
 * for a piece. The operation is in ucp_fh_worker::unposted, and leaves the list unless it
 * waits */
static void begin_pieces(ucp_fh_op_t *op)
{
    ucp_fh_worker_h worker = op->worker;
    ucs_status_t status;

    while ((op->posted < op->access.length) && (atomic_load(&op->error) == UCS_OK)) {
        status = begin_piece(op);
        if (status == UCS_INPROGRESS) {
            /* From here on, another thread may have ended and freed the operation */
            ucp_fh_settle(worker->fh);
            if (worker->is_multi) {
                ucp_fh_wake(worker->fh);
            }
            return;
        }
        note(op, status);
    }

    ucp_fh_lock(worker->fh);
    ucs_list_del(&op->link);
    ucp_fh_unlock(worker->fh);
    end_request(op, UCS_OK);
}

/* Go on with an operation: its piece is there, or has failed */
static void resume(ucp_fh_op_t *op)
{
    ucp_fh_t *fh      = op->worker->fh;
    op_piece_t *piece = op->piece;
    ucs_status_t status = piece->super.request.comp.status;
    ucp_fh_chunk_t chunk;

    if (status != UCS_OK) {
        note(op, status);
        ucp_fh_piece_free(&piece->super);
    } else {
        ucp_fh_piece_find(fh, &piece->super, op->access.remote + op->posted, &chunk);
        post_piece(op, piece, &chunk);
    }
    begin_pieces(op);
}

/* Put an operation at the end of ucp_fh_worker::unposted */
static void enter(ucp_fh_op_t *op)
{
    ucp_fh_worker_h worker = op->worker;

    ucp_fh_lock(worker->fh);
    ucs_list_add_tail(&worker->unposted, &op->link);
    ucp_fh_unlock(worker->fh);
}

ucs_status_ptr_t ucp_fh_op_begin(ucp_fh_op_t *op)
{
    enter(op);
    begin_pieces(op);
    return to_program(op);
}


/* Flushes */

static void flush_finished(ucp_fh_op_t *op, ucs_status_t status)
{
    ucp_fh_t *fh = op->worker->fh;

    /* The pieces of a failed flush are released as well: the peer is gone then, and no
     * write can arrive there any more */
    ucp_fh_lock(fh);
    ucp_fh_pieces_release(fh, &op->pieces);
    --op->worker->num_flushing;
    ucp_fh_unlock(fh);
    end_request(op, status);
}

static void flush_ended(void *request, ucs_status_t status, void *user_data)
{
    ucp_request_free(request);
    flush_finished(user_data, status);
}

static void begin_flush(ucp_fh_op_t *op)
{
    ucp_fh_worker_h worker    = op->worker;
    ucp_request_param_t param = {
        .op_attr_mask = TOLD,
        .cb.send      = flush_ended,
        .user_data    = op
    };
    ucs_status_ptr_t request;

    request = ucp_fh_ways_flush(worker->fh, &worker->ways, worker->worker, NULL, &param,
                                &op->pieces);
    if (!UCS_PTR_IS_PTR(request)) {
        flush_finished(op, UCS_PTR_STATUS(request));
    }
}

/* Under lock. @return whether a flush is the first of ucp_fh_worker::unposted: it may
 * begin, as all operations before the flush are posted */
static int has_flush(ucp_fh_worker_h worker)
{
    return !ucs_list_is_empty(&worker->unposted) &&
           (ucs_list_head(&worker->unposted, ucp_fh_op_t, link)->way == NULL);
}

int ucp_fh_op_can_resume(ucp_fh_worker_h worker)
{
    return !ucs_list_is_empty(&worker->ready) || has_flush(worker);
}

void ucp_fh_op_resume_all(ucp_fh_worker_h worker)
{
    ucp_fh_t *fh = worker->fh;
    ucp_fh_op_t *op, *flush;

    do {
        flush = NULL;
        ucp_fh_lock(fh);
        op = ucp_fh_list_pop(&worker->ready, ucp_fh_op_t, ready);
        if (has_flush(worker)) {
            flush = ucs_list_extract_head(&worker->unposted, ucp_fh_op_t, link);
            ++worker->num_flushing;
        }
        ucp_fh_unlock(fh);

        if (op != NULL) {
            resume(op);
        }
        if (flush != NULL) {
            begin_flush(flush);
        }
    } while ((op != NULL) || (flush != NULL));
}

ucs_status_ptr_t ucp_fh_op_flush(ucp_fh_op_t *op)
{
    enter(op);
    ucp_fh_op_resume_all(op->worker);
    return to_program(op);
}
