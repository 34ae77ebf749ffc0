/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "callpath.h"
#include "layout.h"

#include <ucs/base/hash.h>

#include <stdatomic.h>
#include <stdlib.h>

/* The numbers of some thousand paths; programs that were measured have up to 61
 * in one thread */
#define PATH_BITS   12

/* So many neighbours are looked at for one path, so that hardly any path that
 * was found is forgotten for another one */
#define PATH_PROBES 4

/* What the depth is multiplied with, odd and without a simple ratio to the
 * factor of the caller: it is one of the multipliers of SplitMix64 */
#define STACK_FACTOR 0xbf58476d1ce4e5b9ul


struct ucs_callpath_table {
    ucs_callpath_layouts_t   layouts;

    /* Constant */
    const ucs_callpath_ops_t *ops;

    /* Numbers of paths that an unwinding has found, or 0. Written by threads
     * that have just unwound. Relaxed: nothing is found through them, and of
     * two threads that write one at a time, one has to unwind again later */
    _Atomic(uint64_t)         paths[1u << PATH_BITS];
};


ucs_status_t ucs_callpath_table_create(const ucs_callpath_ops_t *ops,
                                       ucs_callpath_table_t **table_p)
{
    /* calloc rather than malloc: it need not touch the pages */
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

/* The key of a caller and depth, which is odd. Its high bits are an index */
static uint64_t key_of(const void *caller, const void *stack)
{
    return (ucs_rcache_pred_hash_word((uintptr_t)caller) +
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
        if (atomic_load_explicit(path_at(table, path, i),
                                 memory_order_relaxed) == path) {
            return 1;
        }
    }
    return 0;
}

static UCS_F_ALWAYS_INLINE int is_known(ucs_callpath_table_t *table,
                                        uint64_t path)
{
    return ucs_likely(atomic_load_explicit(path_at(table, path, 0),
                                           memory_order_relaxed) == path) ||
           is_known_further_on(table, path);
}

/* Remember a path, in the place of another one if there is no room */
static void add_path(ucs_callpath_table_t *table, uint64_t path)
{
    _Atomic(uint64_t) *place = path_at(table, path, 0);
    unsigned i;

    if (is_known(table, path)) {
        return;
    }

    for (i = 0; i < PATH_PROBES; ++i) {
        if (atomic_load_explicit(path_at(table, path, i),
                                 memory_order_relaxed) == 0) {
            place = path_at(table, path, i);
            break;
        }
    }
    atomic_store_explicit(place, path, memory_order_relaxed);
}

/* The number of the path that the slots of a layout say, or 0 if they are not
 * all on the stack */
static UCS_F_ALWAYS_INLINE UCS_CALLPATH_READS_SLOTS uint64_t
path_of(const ucs_callpath_layout_t *layout, uint64_t key, const void *stack,
        uintptr_t high)
{
    uint64_t sum = ucs_callpath_layout_hash(layout, (uintptr_t)stack, high);

    return (sum == 0) ? 0 : (ucs_rcache_pred_hash_word(sum ^ key) | 1);
}

/* Unwind, if that is not too often, and remember what was found. @return the
 * number of the path, or 0. */
static UCS_F_NOINLINE UCS_CALLPATH_READS_SLOTS uint64_t
learn(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread, uint64_t key,
      const void *caller, const void *stack)
{
    ucs_callpath_frame_t frames[UCS_CALLPATH_MAX_SLOTS];
    const ucs_callpath_layout_t *layout;
    unsigned num_frames;
    uint64_t path;

    if ((thread->credit == 0) ||
        !ucs_callpath_layouts_may_unwind(&table->layouts, key)) {
        return 0;
    }

    --thread->credit;
    num_frames = table->ops->unwind(caller, frames, UCS_CALLPATH_MAX_SLOTS);
    layout     = ucs_callpath_layouts_get(&table->layouts, key,
                                          (uintptr_t)stack, thread->stack.high,
                                          frames, num_frames);
    if (layout == NULL) {
        return 0;
    }

    path = path_of(layout, key, stack, thread->stack.high);
    add_path(table, path);
    return path;
}

/* The first call of a thread, and each that gives it credit */
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

/* No known path has the slots of the first way. @return its number, or 0. */
static UCS_F_NOINLINE UCS_CALLPATH_READS_SLOTS uint64_t
find_further_on(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread,
                uint64_t key, const void *caller, const void *stack)
{
    const ucs_callpath_layout_t *layout;
    uint64_t path;
    unsigned way;

    for (way = 1; way < UCS_CALLPATH_MAX_WAYS; ++way) {
        layout = ucs_callpath_layouts_find(&table->layouts, key, way);
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

UCS_CALLPATH_READS_SLOTS uint64_t
ucs_callpath_find(ucs_callpath_table_t *table, ucs_callpath_thread_t *thread,
                  const void *caller, const void *stack)
{
    uint64_t key = key_of(caller, stack);
    const ucs_callpath_layout_t *layout;
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

    layout = ucs_callpath_layouts_first(&table->layouts, key);
    if (ucs_likely(layout != NULL)) {
        path = path_of(layout, key, stack, thread->stack.high);
        if (ucs_likely((path != 0) && is_known(table, path))) {
            return path;
        }
    }

    path = find_further_on(table, thread, key, caller, stack);
    return (path == 0) ? (uintptr_t)stack : path;
}
