/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "callpath.h"

#include <ucs/base/hash.h>
#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Words of the table of paths, as a power of 2; programs that were measured
 * have up to 61 paths in one thread */
#define PATH_BITS   12

/* A path may be in any of this many neighbouring words, so that hardly any path
 * is forgotten in favour of another one */
#define PATH_PROBES 4

/* Factor of the depth, odd and without a simple ratio to the factor of the caller:
 * one of the multipliers of SplitMix64 */
#define STACK_FACTOR 0xbf58476d1ce4e5b9ul

/* A layout may be in any of this many neighbouring places. The table is hardly
 * ever half full, so that nearly all layouts are in the first place */
#define LAYOUT_PROBES 8

/* There is room for 4096 layouts */
#define LAYOUT_BITS 12

/* The largest distance from the address "stack" of ucs_callpath_find() to a slot,
 * in words: a layout stores distances in 16 bits */
#define MAX_OFFSET  UINT16_MAX

/* The loop over slots reads this many at a time: the last slot of a layout is
 * repeated until the number of slots is a multiple */
#define SLOT_STEP   4

/* Attribute of functions that read slots: on another path, a slot of a layout
 * may be in a part of a frame that the address sanitizer forbids to read */
#define READS_SLOTS __attribute__((no_sanitize_address))


/* The slots (words) of the stack in which the return addresses of a path lie. A
 * caller and a depth of the stack are together called a key. A key may have
 * several layouts, which are told apart by a number, their way. A layout never
 * changes and never goes away, so that threads read it without a lock. It fills
 * a cache line */
typedef struct layout {
    /* An odd number: the key with the way mixed in. 0: there is no layout here.
     * Another even number: a thread, which has written this number by
     * compare-and-swap, is filling in the layout, and will then write the odd
     * number, with release. */
    _Atomic(uint64_t) key;
    /* In the layout of the first way: how often the stack was unwound for the
     * key. Relaxed: a number. */
    _Atomic(uint32_t) unwinds;
    uint32_t         count; /* How many slots there are */
    /* Distances of the slots from the address "stack" of ucs_callpath_find(), in
     * words, in rising order */
    uint16_t         offset[UCS_CALLPATH_MAX_SLOTS];
} layout_t;


struct ucs_callpath_table {
    layout_t                 layouts[1u << LAYOUT_BITS];

    /* Constant */
    const ucs_callpath_ops_t *ops;

    /* Numbers of paths that an unwinding has found; 0: the word is free.
     * Written by threads that have just unwound. Relaxed: the numbers guard no
     * other memory; if two threads write the same word, one of them has to
     * unwind again later */
    _Atomic(uint64_t)         paths[1u << PATH_BITS];
};


/* Multipliers of the hash: the output of SplitMix64 (G. Steele et al.,
 * OOPSLA'14) for seed 0, made odd */
static const uint64_t factors[UCS_CALLPATH_MAX_SLOTS] = {
    0xe220a8397b1dcdaful, 0x6e789e6aa1b965f5ul, 0x06c45d188009454ful,
    0xf88bb8a8724c81edul, 0x1b39896a51a8749bul, 0x53cb9f0c747ea2ebul,
    0x2c829abe1f4532e1ul, 0xc584133ac916ab3dul, 0x3ee5789041c98ac3ul,
    0xf3b8488c368cb0a7ul, 0x657eecdd3cb13d09ul, 0xc2d326e0055bdef7ul,
    0x8621a03fe0bbdb7bul, 0x8e1f7555983aa92ful, 0xb54e0f1600cc4d19ul,
    0x84bb3f97971d80abul, 0x7d29825c75521255ul, 0xc3cf17102b7f7f87ul,
    0x3466e9a083914f65ul, 0xd81a8d2b5a4485adul, 0xdb01602b100b9ed7ul,
    0xa9038a921825f10dul, 0xedf5f1d90dca2f6bul, 0x54496ad67bd2634dul
};


/* @return the place of a layout at a probe: 0 for its first place, 1 for the
 * next one */
static UCS_F_ALWAYS_INLINE layout_t *
layout_at(ucs_callpath_table_t *table, uint64_t key, unsigned probe)
{
    return &table->layouts[((key >> (64 - LAYOUT_BITS)) + probe) &
                           UCS_MASK(LAYOUT_BITS)];
}

/* @return the number in layout_t::key for a key and a way (from 0). It is odd,
 * as the key itself */
static uint64_t key_at(uint64_t key, unsigned way)
{
    return key + way * (UCS_HASH_GOLDEN << 1);
}

/* The table keeps up to UCS_CALLPATH_MAX_WAYS layouts of one caller and depth
 * (the key), numbered by their way. @return the layout of a key and a way; NULL
 * if there is none */
static UCS_F_NOINLINE layout_t *
find_layout(ucs_callpath_table_t *table, uint64_t key, unsigned way)
{
    layout_t *layout;
    uint64_t found;
    unsigned i;

    key = key_at(key, way);
    for (i = 0; i < LAYOUT_PROBES; ++i) {
        layout = layout_at(table, key, i);
        /* Acquire: a thread that sees the odd number sees the slots */
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

/* Count that the stack is about to be unwound for a key. @return 0 if the stack
 * was unwound too often for the key already */
static int may_unwind(ucs_callpath_table_t *table, uint64_t key)
{
    layout_t *first = find_layout(table, key, 0);

    if (first == NULL) {
        return 1;
    }

    if (ucs_relaxed_load(&first->unwinds) >= UCS_CALLPATH_MAX_UNWINDS) {
        return 0;
    }

    ucs_relaxed_add(&first->unwinds, 1);
    return 1;
}

/* Find the offsets of a new layout. The first frame that is too far away is
 * left out, and so are all frames after it. @return the number of offsets */
static unsigned offsets_of(uintptr_t stack, uintptr_t high,
                           const ucs_callpath_frame_t *frames,
                           unsigned num_frames, uint16_t *offset)
{
    uintptr_t distance;
    unsigned i;

    for (i = 0; i < num_frames; ++i) {
        distance = (frames[i].slot - stack) / sizeof(uintptr_t);
        if ((frames[i].slot < stack) || (frames[i].slot >= high) ||
            (distance > MAX_OFFSET)) {
            break;
        }
        offset[i] = distance;
    }

    while (i % SLOT_STEP != 0) {
        offset[i] = offset[i - 1];
        ++i;
    }
    return i;
}

/* @return the new layout, or NULL if there is no room for it */
static const layout_t *
add_layout(ucs_callpath_table_t *table, uint64_t key, unsigned way,
           const uint16_t *offset, unsigned count)
{
    layout_t *layout;
    uint64_t found;
    unsigned i;

    key = key_at(key, way);
    for (i = 0; i < LAYOUT_PROBES; ++i) {
        layout = layout_at(table, key, i);
        found  = 0;
        /* Relaxed: the thread reads nothing that another thread has written there */
        if (ucs_relaxed_cas(&layout->key, &found, key & ~1ul)) {
            ucs_relaxed_store(&layout->unwinds, 1);
            layout->count = count;
            memcpy(layout->offset, offset, count * sizeof(*offset));
            /* Release: pairs with the acquire of find_layout() */
            atomic_store_explicit(&layout->key, key, memory_order_release);
            return layout;
        }
    }
    return NULL;
}

/* Get the layout for the frames that an unwinding has found for a key; add the
 * layout if it is new. @return NULL if there is no room */
static const layout_t *
get_layout(ucs_callpath_table_t *table, uint64_t key, uintptr_t stack,
           uintptr_t high, const ucs_callpath_frame_t *frames,
           unsigned num_frames)
{
    uint16_t offset[UCS_CALLPATH_MAX_SLOTS];
    const layout_t *layout;
    unsigned count, way;

    count = offsets_of(stack, high, frames, num_frames, offset);
    for (way = 0; way < UCS_CALLPATH_MAX_WAYS; ++way) {
        layout = find_layout(table, key, way);
        if (layout == NULL) {
            return add_layout(table, key, way, offset, count);
        }
        if ((layout->count == count) &&
            !memcmp(layout->offset, offset, count * sizeof(*offset))) {
            return layout;
        }
    }
    return NULL;
}

/* As find_layout(), for the first way, whose layout is nearly always in its
 * first place */
static UCS_F_ALWAYS_INLINE const layout_t *
first_layout(ucs_callpath_table_t *table, uint64_t key)
{
    layout_t *layout = layout_at(table, key, 0);

    /* Acquire, as in find_layout() */
    return ucs_likely(atomic_load_explicit(&layout->key,
                                           memory_order_acquire) == key) ?
           layout : find_layout(table, key, 0);
}

/*
 * Hash the contents of the slots. The products do not wait for each other; factors
 * without a simple ratio keep paths apart whose addresses differ by little, or in
 * their order. @return the hash, which is not 0; or 0 if slots of the layout are beyond
 * the end of this thread's stack: an earlier thread, whose stack had the same addresses
 * and reached further, has added the layout
 */
static UCS_F_ALWAYS_INLINE READS_SLOTS uint64_t
hash_layout(const layout_t *layout, uintptr_t stack, uintptr_t high)
{
    const uint64_t *factor = factors;
    const uintptr_t *words = (const uintptr_t*)stack;
    const uint16_t *offset = layout->offset;
    unsigned count         = layout->count;
    uint64_t sum           = count;
    unsigned i;

    if ((count > 0) &&
        ucs_unlikely((uintptr_t)&words[offset[count - 1]] >= high)) {
        return 0;
    }

    for (i = 0; i < count; i += SLOT_STEP) {
        sum += words[offset[i]] * factor[i] +
               words[offset[i + 1]] * factor[i + 1] +
               words[offset[i + 2]] * factor[i + 2] +
               words[offset[i + 3]] * factor[i + 3];
    }
    return sum | 1;
}


ucs_status_t ucs_callpath_table_create(const ucs_callpath_ops_t *ops,
                                       ucs_callpath_table_t **table_p)
{
    /* calloc(), since all is 0 at first, and the pages need not be touched for that */
    ucs_callpath_table_t *table = calloc(1, sizeof(*table));

    if (table == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    table->ops = ops;
    *table_p   = table;
    return UCS_OK;
}

void ucs_callpath_table_destroy(ucs_callpath_table_t *table)
{
    free(table);
}

/* @return the key of a caller and a depth of the stack. It is odd, and its high
 * bits are an index into the table */
static uint64_t key_of(const void *caller, const void *stack)
{
    return (ucs_hash_word((uintptr_t)caller) +
            (uintptr_t)stack * STACK_FACTOR) | 1;
}

static _Atomic(uint64_t) *path_at(ucs_callpath_table_t *table, uint64_t path,
                                 unsigned probe)
{
    return &table->paths[((path >> (64 - PATH_BITS)) + probe) &
                         UCS_MASK(PATH_BITS)];
}

static UCS_F_NOINLINE int
is_known_further_on(ucs_callpath_table_t *table, uint64_t path)
{
    unsigned i;

    for (i = 1; i < PATH_PROBES; ++i) {
        if (ucs_relaxed_load(path_at(table, path, i)) == path) {
            return 1;
        }
    }
    return 0;
}

static UCS_F_ALWAYS_INLINE int is_known(ucs_callpath_table_t *table,
                                        uint64_t path)
{
    return ucs_likely(ucs_relaxed_load(path_at(table, path, 0)) == path) ||
           is_known_further_on(table, path);
}

/* Remember a path. If there is no room, it replaces another path */
static void add_path(ucs_callpath_table_t *table, uint64_t path)
{
    _Atomic(uint64_t) *place = path_at(table, path, 0);
    unsigned i;

    if (is_known(table, path)) {
        return;
    }

    for (i = 0; i < PATH_PROBES; ++i) {
        if (ucs_relaxed_load(path_at(table, path, i)) == 0) {
            place = path_at(table, path, i);
            break;
        }
    }
    ucs_relaxed_store(place, path);
}

/* @return the number of the path according to the slots of a layout; 0 if some
 * of the slots are not on the stack */
static UCS_F_ALWAYS_INLINE READS_SLOTS uint64_t
path_of(const layout_t *layout, uint64_t key, const void *stack,
        uintptr_t high)
{
    uint64_t sum = hash_layout(layout, (uintptr_t)stack, high);

    return (sum == 0) ? 0 : (ucs_hash_word(sum ^ key) | 1);
}

/* Unwind the stack, unless the thread, or all threads for this key, have unwound too
 * often, and remember the path. @return the number of the path; 0: it is not known. */
static UCS_F_NOINLINE READS_SLOTS uint64_t
learn(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread, uint64_t key,
      const void *caller, const void *stack)
{
    ucs_callpath_frame_t frames[UCS_CALLPATH_MAX_SLOTS];
    const layout_t *layout;
    unsigned num_frames;
    uint64_t path;

    if ((thread->credit == 0) ||
        !may_unwind(table, key)) {
        return 0;
    }

    --thread->credit;
    num_frames = table->ops->unwind(caller, frames, UCS_CALLPATH_MAX_SLOTS);
    layout     = get_layout(table, key, (uintptr_t)stack, thread->stack.high,
                            frames, num_frames);
    if (layout == NULL) {
        return 0;
    }

    path = path_of(layout, key, stack, thread->stack.high);
    add_path(table, path);
    return path;
}

/* Give a thread credit for one more unwinding, or prepare the thread at its
 * first call */
static UCS_F_NOINLINE void give_credit(ucs_callpath_table_t *table,
                                       ucs_callpath_thread_t *thread)
{
    thread->calls = UCS_CALLPATH_CREDIT_PERIOD;
    if (!thread->is_ready) {
        thread->is_ready = 1;
        thread->stack    = table->ops->stack();
        thread->credit   = UCS_CALLPATH_MAX_CREDIT;
    } else if (thread->credit < UCS_CALLPATH_MAX_CREDIT) {
        ++thread->credit;
    }
}

/* Find the path by the layouts of further ways, since the layout of the first
 * way has led to no known path; else unwind the stack. @return the number of
 * the path; 0: it is not known. */
static UCS_F_NOINLINE READS_SLOTS uint64_t
find_further_on(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread,
                uint64_t key, const void *caller, const void *stack)
{
    const layout_t *layout;
    uint64_t path;
    unsigned way;

    for (way = 1; way < UCS_CALLPATH_MAX_WAYS; ++way) {
        layout = find_layout(table, key, way);
        if (layout == NULL) {
            break;
        }

        path = path_of(layout, key, stack, thread->stack.high);
        if ((path != 0) && is_known(table, path)) {
            return path;
        }
    }

    return learn(table, thread, key, caller, stack);
}

READS_SLOTS uint64_t
ucs_callpath_find(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread,
                  const void *caller, const void *stack)
{
    uint64_t key = key_of(caller, stack);
    const layout_t *layout;
    uint64_t path;

    if (ucs_unlikely(thread->calls == 0)) {
        give_credit(table, thread);
    }
    --thread->calls;

    /* Nobody knows where the stack of a fiber ends */
    if (ucs_unlikely(((uintptr_t)stack < thread->stack.low) ||
                     ((uintptr_t)stack >= thread->stack.high))) {
        return (uintptr_t)stack;
    }

    layout = first_layout(table, key);
    if (ucs_likely(layout != NULL)) {
        path = path_of(layout, key, stack, thread->stack.high);
        if (ucs_likely((path != 0) && is_known(table, path))) {
            return path;
        }
    }

    path = find_further_on(table, thread, key, caller, stack);
    return (path == 0) ? (uintptr_t)stack : path;
}
