/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_REUSE_SLOTS_H_
#define UCS_REUSE_SLOTS_H_

#include "table.h"

#include <ucs/base/mutex.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>
#include <ucs/type/status.h>

#include <stdatomic.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file slots.h
 *
 * The registrations of hot buffers, each in a slot: the memory it is about,
 * its handle, and how many sends of it are in flight. A slot is
 *
 *   free    nobody's
 *   live    sends may use its registration
 *   dead    no further send may: its memory was unmapped, or has to make room.
 *           Once no send is in flight it may be taken
 *   taken   somebody deregisters its memory, after which it is free
 *
 * Pure: what a handle is, and how it is deregistered, is the caller's business.
 */

/** At most so many buffers are hot at a time. A page each, they are 16 MiB. */
#define UCS_REUSE_MAX_SLOTS 4096


/* Flags of the state of a slot. A free slot has both, so that acquiring it fails.
 * The number of sends of a slot that is not live may be above what is in flight
 * for a moment, while a thread finds out that it came too late. */
#define UCS_REUSE_SLOT_DEAD  UCS_BIT(32)
#define UCS_REUSE_SLOT_TAKEN UCS_BIT(33) /**< Or free */
#define UCS_REUSE_SLOT_FLAGS (UCS_REUSE_SLOT_DEAD | UCS_REUSE_SLOT_TAKEN)


/** A slot. What it registers is constant from when it is live until it is
 *  free. */
typedef struct ucs_reuse_slot {
    /** Sends in flight in the low 32 bits, and flags above them.
     *  Whoever changes a flag does so without losing a send that another thread
     *  adds. Acquire and release: whoever takes the slot is after all sends of
     *  it, and whoever sends sees its fields. */
    _Atomic(uint64_t)   state;
    /* Its memory. Relaxed: a memory hook reads it at any time. Pages that are
     * being registered just now are not unmapped in the meantime, since the
     * program sends from them */
    _Atomic(uint64_t)   start;
    _Atomic(uint64_t)   end;
    void               *handle;
    ucs_reuse_buffer_t *buffer; /**< The buffer of the table */
    /** Whether it was used since ucs_reuse_slots_take_victim() passed by.
     *  Relaxed */
    _Atomic(uint32_t)   is_used;
    /** For the caller: whether a message was sent from it as was meant. 0 when
     *  it is filled. Relaxed */
    _Atomic(uint32_t)   is_proven;
} __attribute__((aligned(64))) ucs_reuse_slot_t;


typedef struct ucs_reuse_slots {
    ucs_reuse_slot_t *slots; /**< UCS_REUSE_MAX_SLOTS, all free at first.
                                  Constant, as memory */
    void             *memory; /**< What they are in */
    /** Slots from this one on have never been used. Written under the lock,
     *  with release: who sees a slot sees its fields. */
    _Atomic(uint32_t) num;
    /** How many slots were marked dead and not taken yet. Relaxed: who does not
     *  see it looks again later. */
    _Atomic(uint32_t) num_dead;
    /** Bytes of all slots that are not free. Written under the lock;
     *  relaxed. */
    _Atomic(uint64_t) bytes;
    uint32_t         hand;   /**< Next slot to be a victim. Under the lock */
    /** Held by those who look for a slot to take or to fill; not by those who
     *  use one, nor in a memory hook */
    ucs_mutex_t      lock;
} ucs_reuse_slots_t;


ucs_status_t ucs_reuse_slots_init(ucs_reuse_slots_t *slots);

/** Frees the memory of the slots. No other thread may use them. */
void ucs_reuse_slots_cleanup(ucs_reuse_slots_t *slots);

/**
 * Fill a free slot.
 *
 * @param [in] start, end  The memory that is registered.
 * @return its number, above 0, for ucs_reuse_slots_acquire(); 0: all slots are
 *         in use.
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

/** End a send. Any thread. */
static UCS_F_ALWAYS_INLINE void ucs_reuse_slot_release(ucs_reuse_slot_t *slot)
{
    atomic_fetch_sub_explicit(&slot->state, 1, memory_order_release);
}

/**
 * Begin a send.
 *
 * @param [in] number  A number that ucs_reuse_slots_fill() has returned; the
 *                     slot may be another's by now.
 * @param [in] start, end  What is to be sent.
 * @return the slot, until ucs_reuse_slot_release(); NULL if it is not live or
 *         does not register all of that.
 */
static UCS_F_ALWAYS_INLINE ucs_reuse_slot_t *
ucs_reuse_slots_acquire(ucs_reuse_slots_t *slots, uint32_t number,
                        uintptr_t start, uintptr_t end)
{
    ucs_reuse_slot_t *slot = ucs_reuse_slots_at(slots, number);

    /* Read first: who comes too late does not disturb those who take it */
    if (ucs_unlikely(atomic_load_explicit(&slot->state, memory_order_relaxed) &
                     UCS_REUSE_SLOT_FLAGS)) {
        return NULL;
    }

    if (ucs_unlikely((atomic_fetch_add_explicit(&slot->state, 1,
                                                memory_order_acquire) &
                      UCS_REUSE_SLOT_FLAGS) ||
                     (atomic_load_explicit(&slot->start,
                                           memory_order_relaxed) > start) ||
                     (atomic_load_explicit(&slot->end,
                                           memory_order_relaxed) < end))) {
        ucs_reuse_slot_release(slot);
        return NULL;
    }

    /* Read first: the line stays shared among threads that use the slot */
    if (ucs_unlikely(!atomic_load_explicit(&slot->is_used,
                                           memory_order_relaxed))) {
        atomic_store_explicit(&slot->is_used, 1, memory_order_relaxed);
    }
    return slot;
}

/** @return whether sends of a slot are in flight. */
static UCS_F_ALWAYS_INLINE int
ucs_reuse_slot_is_sent(const ucs_reuse_slot_t *slot)
{
    return (uint32_t)atomic_load_explicit(&slot->state,
                                          memory_order_relaxed) != 0;
}

/** Mark live slots dead whose memory overlaps a range. May be called in a
 *  memory hook: waits for nobody. */
void ucs_reuse_slots_unmapped(ucs_reuse_slots_t *slots, uintptr_t start,
                              uintptr_t end);

/** Mark a slot dead, if it is live. */
void ucs_reuse_slots_retire(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);

/** @return the number of a slot. */
static UCS_F_ALWAYS_INLINE uint32_t
ucs_reuse_slots_number(const ucs_reuse_slots_t *slots,
                       const ucs_reuse_slot_t *slot)
{
    return slot - slots->slots + 1;
}

/** Take a dead slot without sends in flight. @return NULL if there is none. */
ucs_reuse_slot_t *ucs_reuse_slots_take_dead(ucs_reuse_slots_t *slots);

/** Take a live slot without sends in flight, preferably one that was not used
 *  of late. @return NULL if there is none. */
ucs_reuse_slot_t *ucs_reuse_slots_take_victim(ucs_reuse_slots_t *slots);

/** Take any slot, whatever its state, in the order of their numbers. To be used
 *  when no send can be in flight any more. @return NULL after the last. */
ucs_reuse_slot_t *ucs_reuse_slots_take_any(ucs_reuse_slots_t *slots);

/** Put a slot back that was taken: it is dead again, for another time. */
void ucs_reuse_slots_put_dead(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);

/** The memory of a slot that was taken is no longer registered. */
void ucs_reuse_slots_free(ucs_reuse_slots_t *slots, ucs_reuse_slot_t *slot);

END_C_DECLS

#endif
