/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_BUFFERS_H_
#define UCS_REUSE_BUFFERS_H_

#include "costs.h"

#include <ucs/base/hash.h>
#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file buffers.h
 *
 * The small buffers that a program sends: a table of how often each was sent, and
 * slots with the registrations of hot buffers, which are sent without the copy
 * (Rashti and Afsahi 2011, sections 3.3.3 and 3.4). ucs_reuse_decide() says how a
 * message goes.
 *
 * The table is a hash table by address, of cache lines with room for three buffers
 * each. A full line gets a chain of further lines. But if a line overflows
 * while only a small part of all buffers is hot, the table stops: it takes no
 * new buffers, and a program that does not reuse its buffers pays for a lookup
 * only. Unlike the paper's table, this one starts anew, without its cold
 * buffers, once it has refused several times as many buffers as it holds, and
 * at least as many as it has lines: a program may begin to reuse its buffers
 * late.
 *
 * A slot has the memory, the handle and the number of sends in flight of a
 * registration. A slot is
 *
 *   free    without a registration
 *   live    sends may use its registration
 *   dead    no further send may use its registration, since the memory was
 *           unmapped, or has to make room. Once no send is in flight, a thread
 *           may take the slot
 *   taken   a thread deregisters the memory of the slot, and then sets the slot
 *           free
 *
 * Any thread may look up, count and acquire, without a lock. Pure: knows neither
 * UCX nor the clock, nor how a handle is deregistered.
 */

/** The usual table has 2^16 lines. The paper's table has 2^20 places for one
 *  buffer each. */
#define UCS_REUSE_TABLE_BITS 16

#define UCS_REUSE_LINE_BUFFERS 3

/** Sends of a buffer are counted up to this number. */
#define UCS_REUSE_MAX_COUNT ((1u << 19) - 1)

/** The most buffers that are hot at a time. With a page of 4 KiB each, they
 *  have 16 MiB. */
#define UCS_REUSE_MAX_SLOTS 4096


/**
 * A buffer. All fields may be read by any thread at any time.
 */
typedef struct ucs_reuse_buffer {
    /** Address of the buffer; 0: the entry is free. Changes from 0 by a
     *  compare-and-swap of the thread that adds the buffer, and back to 0 under the
     *  lock of the table. Relaxed: a thread may read the count or the handle of
     *  another buffer, which had the entry before; then it counts wrongly by one, or
     *  finds that the handle is for other memory. */
    _Atomic(uint64_t) address;
    /** How often the buffer was sent. Relaxed, and not added to atomically: if two
     *  threads send the buffer at a time, one send is not counted, without harm. */
    _Atomic(uint32_t) uses;
    /** Above 0: the buffer is hot, and this is the number of its slot. Written
     *  under the lock of the table. Relaxed, for the same reason as address. */
    _Atomic(uint32_t) handle;
} ucs_reuse_buffer_t;


/** A cache line of the table. */
typedef struct ucs_reuse_line {
    ucs_reuse_buffer_t             buffers[UCS_REUSE_LINE_BUFFERS];
    /** The line with further buffers of the same hash. Written once, under the
     *  lock, with release: a thread that sees the pointer sees the empty line. */
    _Atomic(struct ucs_reuse_line*) next;
    uint64_t                       unused;
} ucs_reuse_line_t;


typedef struct ucs_reuse_table {
    /* These fields are constant */
    ucs_reuse_line_t *lines;  /**< Array of 2^bits lines */
    void             *memory; /**< Memory of the lines */
    unsigned         bits;
    double           min_hot; /**< Chains of lines grow only while at least
                                   this part of the buffers is hot, 0 to 1 */

    /* These fields are relaxed: numbers that nothing else depends on */
    _Atomic(uint32_t) num_buffers;
    _Atomic(uint32_t) num_hot;   /**< Written under the lock */
    _Atomic(uint32_t) is_stopped; /**< Not 0: the table takes no new buffers.
                                       Written under the lock */
    _Atomic(uint32_t) num_refused; /**< Buffers that were refused since the
                                        table stopped. If two threads add to the
                                        number at a time, one buffer is not
                                        counted, without harm */

    ucs_mutex_t      lock;
} ucs_reuse_table_t;


/* Flags of the state of a slot. A free slot has both flags, so that nobody can
 * acquire it. A late thread counts a send of a dead or taken slot for a moment,
 * until the thread sees the flag. */
#define UCS_REUSE_SLOT_DEAD  UCS_BIT(32)
#define UCS_REUSE_SLOT_TAKEN UCS_BIT(33) /**< The slot is taken or free */
#define UCS_REUSE_SLOT_FLAGS (UCS_REUSE_SLOT_DEAD | UCS_REUSE_SLOT_TAKEN)


/** A slot. Its registration is constant from when the slot is live until it is
 *  free. */
typedef struct ucs_reuse_slot {
    /** Sends in flight in the low 32 bits, and flags above them. Threads change
     *  flags by atomic operations that keep the number of sends. Acquire and
     *  release: all sends from the slot have ended for a thread that takes the
     *  slot, and a thread that sends sees the fields of the slot. */
    _Atomic(uint64_t)   state;
    /* Memory of the slot. Relaxed: a memory hook reads the range at any time. The
     * program does not unmap pages during their registration, since it sends from
     * them */
    _Atomic(uint64_t)   start;
    _Atomic(uint64_t)   end;
    void               *handle;
    ucs_reuse_buffer_t *buffer; /**< The entry of the buffer in the table */
    /** Whether the slot was used since ucs_reuse_slots_take_victim() last
     *  looked at it. Relaxed */
    _Atomic(uint32_t)   is_used;
    /** Whether a transport was seen to send from the slot without a copy.
     *  Written by callers; 0 in a new slot. Relaxed */
    _Atomic(uint32_t)   is_proven;
} __attribute__((aligned(64))) ucs_reuse_slot_t;


typedef struct ucs_reuse_slots {
    ucs_reuse_slot_t *slots; /**< Array of UCS_REUSE_MAX_SLOTS slots, all free
                                  at first. The two pointers are constant */
    void             *memory; /**< Memory of the slots */
    /** Slots from this one on have never been used. Written under the lock,
     *  with release: a thread that sees a slot sees its fields. */
    _Atomic(uint32_t) num;
    /** How many slots were marked dead and not taken yet. Relaxed: a thread that
     *  does not see a dead slot looks again later. */
    _Atomic(uint32_t) num_dead;
    /** Bytes of all slots that are not free. Written under the lock;
     *  relaxed. */
    _Atomic(uint64_t) bytes;
    uint32_t         hand;   /**< Next slot to be a victim. Under the lock */
    /** Held to look for a slot to take or to fill. Neither sends from a slot
     *  nor memory hooks take the lock */
    ucs_mutex_t      lock;
} ucs_reuse_slots_t;


/** How a message goes. */
typedef enum ucs_reuse_choice {
    UCS_REUSE_COPY,     /**< The message is copied */
    UCS_REUSE_HOT,      /**< The message is sent without the copy, from a slot
                             that ucs_reuse_decide() has acquired */
    UCS_REUSE_REGISTER, /**< The caller registers the buffer, and then sends as
                             with HOT; if the registration fails, as with COPY */
    UCS_REUSE_MISFIT    /**< The message is copied: its buffer is hot, but the
                             slot is not live, or the registration does not
                             cover the whole message */
} ucs_reuse_choice_t;


/**
 * Make an empty table.
 *
 * @param [in] bits     4 to 24: the table has 2^bits lines; the kernel provides memory
 *                      for the lines that are used.
 * @param [in] min_hot  See @ref ucs_reuse_table_t; the paper uses 0.2.
 */
ucs_status_t ucs_reuse_table_init(ucs_reuse_table_t *table, unsigned bits,
                                  double min_hot);

/** Free the memory of the table. No other thread may use the table. */
void ucs_reuse_table_cleanup(ucs_reuse_table_t *table);

/**
 * Add a buffer that was not found.
 *
 * @return NULL if the table takes no new buffers, or if there is no memory.
 */
ucs_reuse_buffer_t *ucs_reuse_table_add(ucs_reuse_table_t *table,
                                        const void *address);

/** @return the buffer of an address, or NULL. */
static UCS_F_ALWAYS_INLINE ucs_reuse_buffer_t *
ucs_reuse_table_find(const ucs_reuse_table_t *table, const void *address)
{
    uint64_t key           = (uintptr_t)address;
    ucs_reuse_line_t *line = &table->lines[ucs_hash_bits(
            key, table->bits)];
    unsigned i;

    do {
        for (i = 0; i < UCS_REUSE_LINE_BUFFERS; ++i) {
            if (ucs_relaxed_load(&line->buffers[i].address) == key) {
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
 * @return the number of sends so far, this one included; UCS_REUSE_MAX_COUNT
 *         stands for any larger number, too.
 */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_buffer_count(ucs_reuse_buffer_t *buffer)
{
    uint32_t count = ucs_relaxed_load(&buffer->uses);

    count += (count < UCS_REUSE_MAX_COUNT);
    ucs_relaxed_store(&buffer->uses, count);
    return count;
}

/** Count the sends of a buffer from 0 again. */
static inline void ucs_reuse_buffer_restart(ucs_reuse_buffer_t *buffer)
{
    ucs_relaxed_store(&buffer->uses, 0);
}

/** @return the handle of a buffer that is hot, or 0. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_buffer_handle(const ucs_reuse_buffer_t *buffer)
{
    return ucs_relaxed_load(&buffer->handle);
}

/**
 * Make a buffer hot.
 *
 * @param [in] handle  Above 0.
 * @return whether this call has made the buffer hot; 0 if another thread was
 *         faster, or if the entry belongs to another buffer by now.
 */
int ucs_reuse_table_heat(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                         const void *address, uint32_t handle);

/** Make a buffer cold if it has this handle, and count its sends from 0 again. */
void ucs_reuse_table_cool(ucs_reuse_table_t *table, ucs_reuse_buffer_t *buffer,
                          uint32_t handle);


ucs_status_t ucs_reuse_slots_init(ucs_reuse_slots_t *slots);

/** Free the memory of the slots. No other thread may use the slots. */
void ucs_reuse_slots_cleanup(ucs_reuse_slots_t *slots);

/**
 * Fill a free slot.
 *
 * @param [in] start, end  The memory that is registered.
 * @return the number of the slot, above 0, for ucs_reuse_slots_acquire(); 0: all
 *         slots are in use.
 */
uint32_t ucs_reuse_slots_fill(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end, void *handle,
                              ucs_reuse_buffer_t *buffer);

/** @return the slot of a number. */
static UCS_F_ALWAYS_INLINE ucs_reuse_slot_t *
ucs_reuse_slots_at(const ucs_reuse_slots_t *slots, uint32_t number)
{
    return &slots->slots[number - 1];
}

/** @return the number of a slot. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_slots_number(const ucs_reuse_slots_t *slots,
                       const ucs_reuse_slot_t *slot)
{
    return slot - slots->slots + 1;
}

/** End a send. Any thread. */
static UCS_F_ALWAYS_INLINE void ucs_reuse_slot_release(ucs_reuse_slot_t *slot)
{
    atomic_fetch_sub_explicit(&slot->state, 1, memory_order_release);
}

/**
 * Begin a send.
 *
 * @param [in] number  A number that ucs_reuse_slots_fill() has returned. The
 *                     slot may belong to another buffer by now.
 * @param [in] start, end  The memory of the message.
 * @return the slot, which stays registered until ucs_reuse_slot_release(); NULL
 *         if the slot is not live, or its registration does not cover the whole
 *         message.
 */
static UCS_F_ALWAYS_INLINE ucs_reuse_slot_t *
ucs_reuse_slots_acquire(ucs_reuse_slots_t *slots, uint32_t number,
                        uintptr_t start, uintptr_t end)
{
    ucs_reuse_slot_t *slot = ucs_reuse_slots_at(slots, number);

    /* Look at the flags before the addition: a late thread then does not write to
     * the cache line of a slot that another thread has taken */
    if (ucs_unlikely(ucs_relaxed_load(&slot->state) & UCS_REUSE_SLOT_FLAGS)) {
        return NULL;
    }

    if (ucs_unlikely((atomic_fetch_add_explicit(&slot->state, 1,
                                                memory_order_acquire) &
                      UCS_REUSE_SLOT_FLAGS) ||
                     (ucs_relaxed_load(&slot->start) > start) ||
                     (ucs_relaxed_load(&slot->end) < end))) {
        ucs_reuse_slot_release(slot);
        return NULL;
    }

    /* Store only if the flag is not set: the cache line stays shared among the
     * threads that use the slot */
    if (ucs_unlikely(!ucs_relaxed_load(&slot->is_used))) {
        ucs_relaxed_store(&slot->is_used, 1);
    }
    return slot;
}

/** @return whether sends of a slot are in flight. */
static UCS_F_ALWAYS_INLINE int
ucs_reuse_slot_is_sent(const ucs_reuse_slot_t *slot)
{
    return (uint32_t)ucs_relaxed_load(&slot->state) != 0;
}

/** A range is unmapped: mark the live slots dead whose memory overlaps the
 *  range. May be called in a memory hook: waits for nobody. */
void ucs_reuse_slots_unmapped(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end);

/** Mark a slot dead, if it is live. */
void ucs_reuse_slots_retire(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);

/** Take a dead slot without sends in flight. @return NULL if there is none. */
ucs_reuse_slot_t *ucs_reuse_slots_take_dead(ucs_reuse_slots_t *slots);

/** Take a live slot without sends in flight, preferably one that was not used
 *  of late. @return NULL if there is none. */
ucs_reuse_slot_t *ucs_reuse_slots_take_victim(ucs_reuse_slots_t *slots);

/** Take any slot, whatever its state, in the order of their numbers. To be used
 *  when no send can be in flight any more. @return NULL after the last. */
ucs_reuse_slot_t *ucs_reuse_slots_take_any(ucs_reuse_slots_t *slots);

/** Put a taken slot back, since it cannot be deregistered now. The slot is dead
 *  again. */
void ucs_reuse_slots_put_dead(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);

/** Set a taken slot free, after its memory was deregistered. */
void ucs_reuse_slots_free(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);


/**
 * Decide how a message goes, and count it unless its buffer is hot.
 *
 * A buffer is to be registered when its number of sends reaches the threshold.
 * If the registration fails, as where the program may only read the memory,
 * later attempts come at each power of 2, more and more rarely, since an
 * attempt takes as long as many copies.
 *
 * @param [in]  threshold  The number of sends from which on a buffer is
 *                         registered; UCS_REUSE_NEVER: no buffer is.
 * @param [out] buffer_p   The entry of the buffer in the table. Not set if the
 *                         table takes no new buffers, or with UCS_REUSE_NEVER.
 * @param [out] slot_p     With HOT: for ucs_reuse_slot_release().
 */
static UCS_F_ALWAYS_INLINE ucs_reuse_choice_t
ucs_reuse_decide(ucs_reuse_table_t *table, ucs_reuse_slots_t *slots,
                 uint32_t threshold, const void *address, size_t length,
                 ucs_reuse_buffer_t **buffer_p, ucs_reuse_slot_t **slot_p)
{
    uintptr_t start = (uintptr_t)address;
    ucs_reuse_buffer_t *buffer;
    uint32_t handle, count;

    if (threshold == UCS_REUSE_NEVER) {
        return UCS_REUSE_COPY;
    }

    buffer = ucs_reuse_table_find(table, address);
    if (ucs_unlikely(buffer == NULL)) {
        buffer = ucs_reuse_table_add(table, address);
        if (buffer == NULL) {
            return UCS_REUSE_COPY;
        }
    }

    *buffer_p = buffer;
    handle    = ucs_reuse_buffer_handle(buffer);
    if (handle != 0) {
        *slot_p = ucs_reuse_slots_acquire(slots, handle, start, start + length);
        return ucs_likely(*slot_p != NULL) ? UCS_REUSE_HOT : UCS_REUSE_MISFIT;
    }

    count = ucs_reuse_buffer_count(buffer);
    return ucs_unlikely((count == threshold) ||
                        ((count > threshold) && ucs_is_pow2(count))) ?
           UCS_REUSE_REGISTER : UCS_REUSE_COPY;
}

END_C_DECLS

#endif
