/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_HELD_H_
#define UCP_FH_HELD_H_

#include "worker.h"

/** @file held.h
 *
 * Where a way may write without asking the table of firehoses.
 *
 * The firehoses that an operation has written through stay in use until a flush
 * of the way has ended that began later. If further writes to the same buckets
 * are posted before that flush begins, it covers them as well. Such writes need
 * no lock, no memory and no use of their own: a hit is one lookup and UCP's own
 * call.
 *
 * Others may want these firehoses. The thread looks for that in
 * ucp_fh_worker_progress(), after each write that does ask the table, and after
 * UCP_FH_HELD_QUICK that did not. Then the next write asks the table, also if a flush
 * is under way, and that is an attempt of those who wait (remote.h): a thread that
 * only writes has to wait in the end, and progresses its worker.
 *
 * Not for what reads, whose firehoses are in use until it has ended and no
 * longer; nor for workers that any thread may use, where a flush may begin in
 * another thread while an operation is being posted.
 */

/** So many writes in a row do not look at the table, at most. */
#define UCP_FH_HELD_QUICK 16


static inline ucp_fh_held_t *ucp_fh_held_slot(ucp_fh_way_t *way, uint64_t bucket)
{
    return &way->held[bucket & (way->num_held - 1)];
}

/** Remember what a key is for, which has just been written through.
 *
 *  @param [in] bucket      That the way has a firehose on.
 *  @param [in] start, end  Bytes of it that may be accessed. */
static inline void ucp_fh_held_add(ucp_fh_way_t *way, ucp_fh_bucket_t bucket,
                                   uint64_t start, uint64_t end, ucp_rkey_h rkey)
{
    way->num_quick                 = 0;
    *ucp_fh_held_slot(way, bucket) = (ucp_fh_held_t){
        .start = start,
        .end   = end,
        .rkey  = rkey,
        .epoch = way->epoch
    };
}

/** @return the key for some bytes, in case the way has firehoses on all of them
 *          and need not ask the table now; or NULL. */
static inline ucp_rkey_h
ucp_fh_held_find(ucp_fh_way_t *way, unsigned shift, uint64_t address,
                 size_t length)
{
    const ucp_fh_held_t *slot = ucp_fh_held_slot(way, address >> shift);

    if ((slot->epoch != way->epoch) || (address < slot->start) ||
        (address > slot->end) || (length > slot->end - address)) {
        return NULL;
    }

    ++way->num_quick;
    ++way->worker->num_uncounted;
    return slot->rkey;
}

#endif
