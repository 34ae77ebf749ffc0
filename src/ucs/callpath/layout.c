/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "layout.h"

#include <ucs/base/hash.h>

#include <string.h>

/* So many neighbours are looked at for one layout. The table is hardly ever
 * half full, so that few need more than the first */
#define LAYOUT_PROBES 8


/* Multipliers of the hash: the output of SplitMix64 (G. Steele et al.,
 * OOPSLA'14) for seed 0, made odd */
const uint64_t ucs_callpath_factors[UCS_CALLPATH_MAX_SLOTS] = {
    0xe220a8397b1dcdaful, 0x6e789e6aa1b965f5ul, 0x06c45d188009454ful,
    0xf88bb8a8724c81edul, 0x1b39896a51a8749bul, 0x53cb9f0c747ea2ebul,
    0x2c829abe1f4532e1ul, 0xc584133ac916ab3dul, 0x3ee5789041c98ac3ul,
    0xf3b8488c368cb0a7ul, 0x657eecdd3cb13d09ul, 0xc2d326e0055bdef7ul,
    0x8621a03fe0bbdb7bul, 0x8e1f7555983aa92ful, 0xb54e0f1600cc4d19ul,
    0x84bb3f97971d80abul, 0x7d29825c75521255ul, 0xc3cf17102b7f7f87ul,
    0x3466e9a083914f65ul, 0xd81a8d2b5a4485adul, 0xdb01602b100b9ed7ul,
    0xa9038a921825f10dul, 0xedf5f1d90dca2f6bul, 0x54496ad67bd2634dul
};


/* The key under which the layout of a way, a number from 0, is in the table. It is
 * odd, as the key of way 0 is: an even one marks a layout that is being written */
static uint64_t key_at(uint64_t key, unsigned way)
{
    return key + way * (UCS_RCACHE_PRED_HASH_GOLDEN << 1);
}

ucs_callpath_layout_t *
ucs_callpath_layouts_find(ucs_callpath_layouts_t *layouts, uint64_t key,
                          unsigned way)
{
    ucs_callpath_layout_t *layout;
    uint64_t found;
    unsigned i;

    key = key_at(key, way);
    for (i = 0; i < LAYOUT_PROBES; ++i) {
        layout = ucs_callpath_layout_at(layouts, key, i);
        /* Acquire: whoever sees the odd number sees the slots */
        found  = atomic_load_explicit(&layout->key, memory_order_acquire);
        if (found == key) {
            return layout;
        }
        if (found == 0) {
            break;
        }
    }
    return NULL;
}

int ucs_callpath_layouts_may_unwind(ucs_callpath_layouts_t *layouts,
                                    uint64_t key)
{
    ucs_callpath_layout_t *first = ucs_callpath_layouts_find(layouts, key, 0);

    if (first == NULL) {
        return 1;
    }

    if (atomic_load_explicit(&first->unwinds, memory_order_relaxed) >=
        UCS_CALLPATH_MAX_UNWINDS) {
        return 0;
    }

    atomic_fetch_add_explicit(&first->unwinds, 1, memory_order_relaxed);
    return 1;
}

/* @param [out] offset  Of so many slots of a new layout as are returned. */
static unsigned offsets_of(uintptr_t stack, uintptr_t high,
                           const ucs_callpath_frame_t *frames,
                           unsigned num_frames, uint16_t *offset)
{
    uintptr_t distance;
    unsigned i;

    for (i = 0; i < num_frames; ++i) {
        distance = (frames[i].slot - stack) / sizeof(uintptr_t);
        if ((frames[i].slot < stack) || (frames[i].slot >= high) ||
            (distance > UCS_CALLPATH_MAX_OFFSET)) {
            break;
        }
        offset[i] = distance;
    }

    while (i % UCS_CALLPATH_SLOT_STEP != 0) {
        offset[i] = offset[i - 1];
        ++i;
    }
    return i;
}

/* @return the new layout, or NULL if all its places are taken. */
static const ucs_callpath_layout_t *
add(ucs_callpath_layouts_t *layouts, uint64_t key, unsigned way,
    const uint16_t *offset, unsigned count)
{
    ucs_callpath_layout_t *layout;
    uint64_t found;
    unsigned i;

    key = key_at(key, way);
    for (i = 0; i < LAYOUT_PROBES; ++i) {
        layout = ucs_callpath_layout_at(layouts, key, i);
        found  = 0;
        /* Relaxed: whoever takes the place reads nothing that another thread has
         * written there */
        if (atomic_compare_exchange_strong_explicit(&layout->key, &found,
                                                    key & ~1ul,
                                                    memory_order_relaxed,
                                                    memory_order_relaxed)) {
            atomic_store_explicit(&layout->unwinds, 1, memory_order_relaxed);
            layout->count = count;
            memcpy(layout->offset, offset, count * sizeof(*offset));
            /* Release: pairs with the acquire of who finds it */
            atomic_store_explicit(&layout->key, key, memory_order_release);
            return layout;
        }
    }
    return NULL;
}

const ucs_callpath_layout_t *
ucs_callpath_layouts_get(ucs_callpath_layouts_t *layouts, uint64_t key,
                         uintptr_t stack, uintptr_t high,
                         const ucs_callpath_frame_t *frames,
                         unsigned num_frames)
{
    uint16_t offset[UCS_CALLPATH_MAX_SLOTS];
    const ucs_callpath_layout_t *layout;
    unsigned count, way;

    count = offsets_of(stack, high, frames, num_frames, offset);
    for (way = 0; way < UCS_CALLPATH_MAX_WAYS; ++way) {
        layout = ucs_callpath_layouts_find(layouts, key, way);
        if (layout == NULL) {
            return add(layouts, key, way, offset, count);
        }
        if ((layout->count == count) &&
            !memcmp(layout->offset, offset, count * sizeof(*offset))) {
            return layout;
        }
    }
    return NULL;
}
