/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_TABLE_H_
#define UCS_REUSE_TABLE_H_

#include "costs.h"

#include <ucs/base/hash.h>

#include <ucs/base/mutex.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file table.h
 *
 * The table of small buffers that a program sends: how often each was sent, and
 * whether it is hot, so that it is sent without the copy (Rashti and Afsahi
 * 2011, section 3.3.3). It is a hash table by address, of cache lines with room
 * for three buffers each. A line that is full grows a chain of further lines;
 * but once that happens while less than a part of all buffers is hot, the table
 * stops taking new ones (section 3.4), and a program that does not reuse its
 * buffers pays for a lookup only.
 *
 * Unlike the paper's table this one starts anew then, without its cold buffers,
 * after it has turned down many times as many buffers as it holds, and one for
 * each line: a program may begin to reuse its buffers late.
 *
 * Any thread may look up and count, without a lock. Pure: knows neither UCX nor
 * the clock.
 */

/** The paper's table has 2^20 places of one buffer. */
#define UCS_REUSE_TABLE_BITS 16

#define UCS_REUSE_LINE_BUFFERS 3

/** Sends are counted up to that. */
#define UCS_REUSE_MAX_COUNT ((1u << 19) - 1)


/**
 * A buffer. All fields may be read by any thread at any time.
 */
typedef struct ucs_reuse_buffer {
    /** Its address; 0: this place is free. Changes from 0 by a compare-and-swap
     *  of the thread that adds the buffer, and back to 0 under the lock of the
     *  table. Relaxed: whoever reads another buffer's count or handle for it
     *  counts wrongly, or finds that the handle is not about its memory. */
    _Atomic(uint64_t) address;
    /** How often it was sent. Relaxed, and not added to atomically: if two
     *  threads send it at a time, one send is not counted, which does no
     *  harm. */
    _Atomic(uint32_t) uses;
    /** Above 0: it is hot, and this is for the caller to find its registration
     *  by. Written under the lock of the table. Relaxed, as address. */
    _Atomic(uint32_t) handle;
} ucs_reuse_buffer_t;


/** A cache line of the table. */
typedef struct ucs_reuse_line {
    ucs_reuse_buffer_t             buffers[UCS_REUSE_LINE_BUFFERS];
    /** Further buffers of the same hash. Written once, under the lock, with
     *  release: who sees the line sees it empty. */
    _Atomic(struct ucs_reuse_line*) next;
    uint64_t                       unused;
} ucs_reuse_line_t;


typedef struct ucs_reuse_table {
    /* These fields are constant */
    ucs_reuse_line_t *lines;  /**< 2^bits */
    void             *memory; /**< What they are in */
    unsigned         bits;
    double           min_hot; /**< Part of the buffers that has to be hot for
                                   chains to grow; 0 to 1 */

    /* Relaxed: these are numbers that nothing else depends on */
    _Atomic(uint32_t) num_buffers;
    _Atomic(uint32_t) num_hot;   /**< Written under the lock */
    _Atomic(uint32_t) is_stopped; /**< No buffer is added. Written under the
                                      lock */
    _Atomic(uint32_t) num_refused; /**< Buffers not added since it stopped;
                                       counted as uses are */

    ucs_mutex_t      lock;
} ucs_reuse_table_t;


/**
 * @param [in] bits     4 to 24: the table has 2^bits lines, of which the kernel
 *                      provides those that are used.
 * @param [in] min_hot  See @ref ucs_reuse_table_t; the paper uses 0.2.
 */
ucs_status_t ucs_reuse_table_init(ucs_reuse_table_t *table, unsigned bits,
                                  double min_hot);

/** No other thread may use the table. */
void ucs_reuse_table_cleanup(ucs_reuse_table_t *table);

/**
 * Add a buffer that was not found.
 *
 * @return NULL if the table takes no new ones, or if there is no memory.
 */
ucs_reuse_buffer_t *ucs_reuse_table_add(ucs_reuse_table_t *table,
                                        const void *address);

/** @return the buffer of an address, or NULL. */
static UCS_F_ALWAYS_INLINE ucs_reuse_buffer_t *
ucs_reuse_table_find(const ucs_reuse_table_t *table, const void *address)
{
    uint64_t key           = (uintptr_t)address;
    ucs_reuse_line_t *line = &table->lines[ucs_rcache_pred_hash_bits(
            key, table->bits)];
    unsigned i;

    do {
        for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
            if (atomic_load_explicit(&line->buffers[i].address,
                                     memory_order_relaxed) == key) {
                return &line->buffers[i];
            }
        }
        line = atomic_load_explicit(&line->next, memory_order_acquire);
    } while (ucs_unlikely(line != NULL));

    return NULL;
}

/**
 * Count a send of a buffer.
 *
 * @return how many there were, this one included; UCS_REUSE_MAX_COUNT also
 *         stands for more.
 */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_buffer_count(ucs_reuse_buffer_t *buffer)
{
    uint32_t count = atomic_load_explicit(&buffer->uses, memory_order_relaxed);

    count += (count < UCS_REUSE_MAX_COUNT);
    atomic_store_explicit(&buffer->uses, count, memory_order_relaxed);
    return count;
}

/** Count the sends of a buffer from 0 again. */
static inline void ucs_reuse_buffer_restart(ucs_reuse_buffer_t *buffer)
{
    atomic_store_explicit(&buffer->uses, 0, memory_order_relaxed);
}

/** @return the handle of a buffer that is hot, or 0. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_buffer_handle(const ucs_reuse_buffer_t *buffer)
{
    return atomic_load_explicit(&buffer->handle, memory_order_relaxed);
}

/**
 * A buffer has become hot.
 *
 * @param [in] handle  Above 0.
 * @return whether this call has made it hot: another thread may have done so
 *         before, or the place may belong to another buffer by now.
 */
int ucs_reuse_table_heat(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                         const void *address, uint32_t handle);

/** A buffer is no longer hot, if it has this handle. Its sends are counted from
 *  0 again. */
void ucs_reuse_table_cool(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                          uint32_t handle);

END_C_DECLS

#endif
