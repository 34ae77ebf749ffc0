/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "tally.h"

#include <ucs/base/hash.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>

/* So many rows are looked at for one that is a buffer's, or free: four cache
 * lines and a half. Where all are others', the tally is full for that buffer */
#define WINDOW     16

/* Addresses of programs are shorter than 2^57 on all processors; what is longer
 * has no row of its own */
#define CLASS_BITS 6


static size_t num_rows(const ucs_reuse_tally_t *tally)
{
    return 1ul << tally->bits;
}

ucs_status_t ucs_reuse_tally_init(ucs_reuse_tally_t *tally, unsigned bits)
{
    UCS_STATIC_ASSERT(UCS_REUSE_NUM_CLASSES <= (1 << CLASS_BITS));

    memset(tally, 0, sizeof(*tally));
    tally->bits = bits;
    tally->rows = calloc(num_rows(tally), sizeof(*tally->rows));
    return (tally->rows == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void ucs_reuse_tally_cleanup(ucs_reuse_tally_t *tally)
{
    free(tally->rows);
}

void ucs_reuse_tally_reset(ucs_reuse_tally_t *tally)
{
    memset(tally->rows, 0, num_rows(tally) * sizeof(*tally->rows));
    memset(tally->others, 0, sizeof(tally->others));
}

static uint64_t get(const _Atomic(uint64_t) *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* @return whether a row is that of a key, which takes the row if it is free */
static int is_row_of(ucs_reuse_tally_row_t *row, uint64_t key)
{
    uint64_t found = get(&row->key);

    if (found == 0) {
        /* If another thread is faster, it may have added the same buffer */
        return atomic_compare_exchange_strong_explicit(
                       &row->key, &found, key, memory_order_relaxed,
                       memory_order_relaxed) ||
               (found == key);
    }

    return found == key;
}

static ucs_reuse_tally_row_t *
row_of(ucs_reuse_tally_t *tally, uint64_t address, unsigned length_class)
{
    uint64_t key = (address << CLASS_BITS) | length_class;
    ucs_reuse_tally_row_t *row;
    uint64_t first;
    unsigned i;

    if ((address != 0) && ((key >> CLASS_BITS) == address)) {
        first = ucs_rcache_pred_hash_bits(key, tally->bits);
        for (i = 0; i < WINDOW; ++i) {
            row = &tally->rows[(first + i) & (num_rows(tally) - 1)];
            if (is_row_of(row, key)) {
                return row;
            }
        }
    }

    return &tally->others[length_class];
}

void ucs_reuse_tally_note(ucs_reuse_tally_t *tally, const void *address,
                          size_t length, int is_copied)
{
    ucs_reuse_tally_row_t *row = row_of(tally, (uintptr_t)address,
                                        ucs_reuse_class(length));
    uint64_t longest           = get(&row->length);

    atomic_fetch_add_explicit(&row->count, 1, memory_order_relaxed);
    if (is_copied) {
        atomic_fetch_add_explicit(&row->copied, 1, memory_order_relaxed);
    }

    while ((longest < length) &&
           !atomic_compare_exchange_weak_explicit(&row->length, &longest,
                                                  length, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Show a row that has sends. A thread that is noting one may have counted it,
 * and not its length */
static void show(const ucs_reuse_tally_row_t *row, uint64_t address,
                 void (*func)(void *arg, const ucs_reuse_sends_t *sends),
                 void *arg)
{
    ucs_reuse_sends_t sends = {
        .address = address,
        .length  = get(&row->length),
        .copied  = get(&row->copied)
    };

    /* A send is added to the count before it is added to the copied ones, and the
     * count is read after these. But all of that is relaxed, so that a copied
     * send of another thread may be seen before it is seen in the count */
    sends.count = ucs_max(get(&row->count), sends.copied);
    if ((sends.count > 0) && (sends.length > 0)) {
        func(arg, &sends);
    }
}

void ucs_reuse_tally_for_each(const ucs_reuse_tally_t *tally,
                              void (*func)(void *arg,
                                           const ucs_reuse_sends_t *sends),
                              void *arg)
{
    const ucs_reuse_tally_row_t *row;
    unsigned i;

    for (row = tally->rows; row < tally->rows + num_rows(tally); ++row) {
        show(row, get(&row->key) >> CLASS_BITS, func, arg);
    }

    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        show(&tally->others[i], 0, func, arg);
    }
}
