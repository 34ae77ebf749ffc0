/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_CALLPATH_LAYOUT_H_
#define UCS_CALLPATH_LAYOUT_H_

#include "callpath.h"

#include <ucs/sys/math.h>

#include <stdatomic.h>

BEGIN_C_DECLS

/** @file layout.h
 *
 * Layouts: in which slots of the stack the return addresses of a path lie. A
 * caller and depth, together called a key, may have several, each at a way of
 * its own. A layout never changes and never goes away, so that it can be read
 * without a lock. Used by callpath.c only.
 */

/** There is room for 4096 layouts */
#define UCS_CALLPATH_LAYOUT_BITS 12

/** Farthest slot, in words from the place of the caller */
#define UCS_CALLPATH_MAX_OFFSET  UINT16_MAX

/** The last slot is repeated until their number is a multiple of that: the loop
 *  over slots does so many at a time */
#define UCS_CALLPATH_SLOT_STEP   4

/** Of a function that reads slots: those which are not of the present path may
 *  be in parts of frames that the address sanitizer does not want to be read */
#define UCS_CALLPATH_READS_SLOTS __attribute__((no_sanitize_address))


/** A layout, as long as a cache line. */
typedef struct ucs_callpath_layout {
    /** The key with the way mixed in, which is odd. 0: there is no layout.
     *  Another even number: the thread that wrote it, by compare-and-swap, is
     *  filling in the layout, and then writes the odd one, with release. */
    _Atomic(uint64_t) key;
    /** How often the stack was unwound for the key, in the layout of the first
     *  way. Relaxed: a number. */
    _Atomic(uint32_t) unwinds;
    uint32_t         count; /**< How many slots there are */
    /** Distances of the slots from the place of the caller, in words, not
     *  falling */
    uint16_t         offset[UCS_CALLPATH_MAX_SLOTS];
} ucs_callpath_layout_t;


/** The layouts of a table. All 0 at first. */
typedef struct ucs_callpath_layouts {
    ucs_callpath_layout_t layout[1u << UCS_CALLPATH_LAYOUT_BITS];
} ucs_callpath_layouts_t;


/** Multipliers of the hash. */
extern const uint64_t ucs_callpath_factors[UCS_CALLPATH_MAX_SLOTS];


/** @return where a layout may be. @a probe: 0 is the first place. */
static UCS_F_ALWAYS_INLINE ucs_callpath_layout_t *
ucs_callpath_layout_at(ucs_callpath_layouts_t *layouts, uint64_t key,
                       unsigned probe)
{
    return &layouts->layout[((key >> (64 - UCS_CALLPATH_LAYOUT_BITS)) + probe) &
                            UCS_MASK(UCS_CALLPATH_LAYOUT_BITS)];
}

/** @return the layout of a key at a way, or NULL. */
ucs_callpath_layout_t *
ucs_callpath_layouts_find(ucs_callpath_layouts_t *layouts, uint64_t key,
                          unsigned way);

/** The same for the first way, which is nearly always in its first place. */
static UCS_F_ALWAYS_INLINE const ucs_callpath_layout_t *
ucs_callpath_layouts_first(ucs_callpath_layouts_t *layouts, uint64_t key)
{
    ucs_callpath_layout_t *layout = ucs_callpath_layout_at(layouts, key, 0);

    /* Acquire: whoever sees the odd number sees the slots */
    return ucs_likely(atomic_load_explicit(&layout->key,
                                           memory_order_acquire) == key) ?
           layout : ucs_callpath_layouts_find(layouts, key, 0);
}

/** Count that the stack is about to be unwound for a key. @return 0 if it was
 *  unwound too often. */
int ucs_callpath_layouts_may_unwind(ucs_callpath_layouts_t *layouts,
                                    uint64_t key);

/**
 * Get the layout of the frames that an unwinding has found for a key; it is
 * added if there is none like that. Frames from the first one that is too far
 * out are left away.
 *
 * @param [in] stack  The place of the caller.
 * @param [in] high   End of the thread's stack.
 * @return NULL if there is no room for it.
 */
const ucs_callpath_layout_t *
ucs_callpath_layouts_get(ucs_callpath_layouts_t *layouts, uint64_t key,
                         uintptr_t stack, uintptr_t high,
                         const ucs_callpath_frame_t *frames,
                         unsigned num_frames);

/**
 * Hash what the slots hold. The products do not wait for each other; that the
 * factors have no simple ratio keeps paths apart whose addresses differ by
 * little, or in their order.
 *
 * @param [in] high  End of the thread's stack: nothing is read from there on.
 * @return 0 if slots are beyond that, which they are where the thread of a
 *         longer stack was at the same addresses before; else never 0.
 */
static UCS_F_ALWAYS_INLINE UCS_CALLPATH_READS_SLOTS uint64_t
ucs_callpath_layout_hash(const ucs_callpath_layout_t *layout, uintptr_t stack,
                         uintptr_t high)
{
    const uint64_t *factor = ucs_callpath_factors;
    const uintptr_t *words = (const uintptr_t*)stack;
    const uint16_t *offset = layout->offset;
    unsigned count         = layout->count;
    uint64_t sum           = count;
    unsigned i;

    if ((count > 0) &&
        ucs_unlikely((uintptr_t)&words[offset[count - 1]] >= high)) {
        return 0;
    }

    for (i = 0; i < count; i += UCS_CALLPATH_SLOT_STEP) {
        sum += words[offset[i]] * factor[i] +
               words[offset[i + 1]] * factor[i + 1] +
               words[offset[i + 2]] * factor[i + 2] +
               words[offset[i + 3]] * factor[i + 3];
    }
    return sum | 1;
}

END_C_DECLS

#endif
