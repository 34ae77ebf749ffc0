/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FIREHOSE_H_
#define UCT_PREDREG_FIREHOSE_H_

#include <ucs/base/mutex.h>
#include <ucs/datastruct/khash.h>
#include <ucs/type/status.h>
#include <uct/api/uct.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file firehose.h
 *
 * Memory that libucp_firehose.so has registered by way of UCP. The cache does
 * not manage it, but it counts within the bounds: UCX deregisters by handle
 * alone, so the room of each handle is noted here.
 *
 * Any thread may call these functions. None waits for more than the lock, under
 * which memory may be allocated.
 */

/* Bytes of pages by handle. Handles of all managed domains are addresses of
 * what UCX has allocated for them, so that no two are the same */
KHASH_MAP_INIT_INT64(uct_predreg_firehose, uint64_t)


/** What is known of all Firehoses of the process. Initialised by zeros and
 *  UCS_MUTEX_INITIALIZER(UCS_RANK_FH_BOUND). */
typedef struct uct_predreg_firehose {
    ucs_mutex_t                   lock;
    khash_t(uct_predreg_firehose) bytes;    /**< Under the lock */
    /* Relaxed: numbers that nothing else depends on */
    _Atomic(uint64_t)              requests; /**< That the program has made */
    _Atomic(uint64_t)              hits;     /**< Of these, that sent no
                                                 message */
} uct_predreg_firehose_t;


/** Note a registration. @return UCS_ERR_NO_MEMORY if there is none to do so. */
ucs_status_t uct_predreg_firehose_add(uct_predreg_firehose_t *firehose,
                                      uct_mem_h memh, uint64_t bytes);

/** Forget a registration that is about to end: afterwards its handle may belong
 *  to another one. @return its bytes; 0: it was not noted. */
uint64_t uct_predreg_firehose_take(uct_predreg_firehose_t *firehose,
                                   uct_mem_h memh);

/** So many requests and hits more. */
void uct_predreg_firehose_count(uct_predreg_firehose_t *firehose,
                                uint64_t requests, uint64_t hits);

/** Forget everything in a forked child, which has one thread: all of it is the
 *  parent's. Neither allocates nor frees memory. */
void uct_predreg_firehose_reset(uct_predreg_firehose_t *firehose);

#endif
