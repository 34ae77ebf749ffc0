/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sends.h"

#include <ucs/base/hash.h>
#include <ucs/base/relaxed.h>

#include <stdlib.h>

/* A buffer has its row among this many neighbouring rows. If all of them are
 * rows of other buffers, the buffer gets no row of its own */
#define PROBES     16

/* Bits of a key for the class of length; the address is in the bits above. Addresses
 * of programs are below 2^57 on all processors, and fit; a buffer whose address does
 * not has no row of its own */
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

/* @return whether a row has a key; a free row takes the key first */
static int is_row_of(ucs_reuse_tally_row_t *row, uint64_t key)
{
    uint64_t found = ucs_relaxed_load(&row->key);

    if (found == 0) {
        /* If another thread takes the row first, the other thread may send the
         * same buffer, and has stored the same key */
        return ucs_relaxed_cas(&row->key, &found, key) || (found == key);
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
        first = ucs_hash_bits(key, tally->bits);
        for (i = 0; i < PROBES; ++i) {
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
    uint64_t longest           = ucs_relaxed_load(&row->length);

    ucs_relaxed_add(&row->count, 1);
    if (is_copied) {
        ucs_relaxed_add(&row->copied, 1);
    }

    while ((longest < length) &&
           !atomic_compare_exchange_weak_explicit(&row->length, &longest,
                                                  length, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
}

/* Hand a row to a function, unless the row has no sends yet. Another thread may
 * have counted its first send, but not yet noted the length */
static void show(const ucs_reuse_tally_row_t *row, uint64_t address,
                 void (*func)(void *arg, const ucs_reuse_sends_t *sends),
                 void *arg)
{
    ucs_reuse_sends_t sends = {
        .address = address,
        .length  = ucs_relaxed_load(&row->length),
        .copied  = ucs_relaxed_load(&row->copied)
    };

    /* A copied send is added to count before it is added to copied, and count
     * is read last. But all of these operations are relaxed, so that copied may
     * still be ahead of count */
    sends.count = ucs_max(ucs_relaxed_load(&row->count), sends.copied);
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
        show(row, ucs_relaxed_load(&row->key) >> CLASS_BITS, func, arg);
    }

    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        show(&tally->others[i], 0, func, arg);
    }
}


/* The sends of a buffer that count for the gain: sends with lengths for which
 * registering can pay, less the sends that are copied even from a hot buffer */
typedef struct counted {
    uint64_t sends;
    uint32_t threshold; /* The least threshold of their lengths */
    uint64_t length;    /* Length of the longest of these sends, bytes: the
                           buffer is registered with this length */
} counted_t;


/* @return how many sends of a class are counted */
static uint64_t
counted_sends(const uint32_t *thresholds, const ucs_reuse_sends_t *sends)
{
    return (thresholds[ucs_reuse_class(sends->length)] == UCS_REUSE_NEVER) ?
           0 : (sends->count - sends->copied);
}

static counted_t
count(const uint32_t *thresholds, const ucs_reuse_sends_t *sends, unsigned num)
{
    counted_t counted = {.threshold = UCS_REUSE_NEVER};
    uint32_t threshold;
    uint64_t number;
    unsigned i;

    for (i = 0; i < num; ++i) {
        number = counted_sends(thresholds, &sends[i]);
        if (number > 0) {
            threshold          = thresholds[ucs_reuse_class(sends[i].length)];
            counted.sends     += number;
            counted.threshold  = ucs_min(counted.threshold, threshold);
            counted.length     = ucs_max(counted.length, sends[i].length);
        }
    }

    return counted;
}

void ucs_reuse_gain_find(const ucs_reuse_costs_t *costs,
                         const uint32_t thresholds[UCS_REUSE_NUM_CLASSES],
                         const ucs_reuse_sends_t *sends, unsigned num,
                         ucs_reuse_gain_t *gain)
{
    const counted_t counted = count(thresholds, sends, num);
    double part, hot;
    unsigned i;

    *gain = (ucs_reuse_gain_t){.saved = -(costs->lookup * counted.sends)};
    if ((counted.sends == 0) || (counted.sends < counted.threshold)) {
        return;
    }

    /* The send that reaches the threshold registers the buffer, and is itself
     * sent without the copy */
    gain->hot_buffers = 1;
    gain->sends       = counted.sends - counted.threshold + 1;
    gain->saved      -= ucs_reuse_registration(costs, counted.length);
    part              = (double)gain->sends / counted.sends;
    for (i = 0; i < num; ++i) {
        hot          = part * counted_sends(thresholds, &sends[i]);
        gain->bytes += hot * sends[i].length;
        gain->saved += hot * costs->copy[ucs_reuse_class(sends[i].length)];
    }
}

void ucs_reuse_gain_add(ucs_reuse_gain_t *sum, const ucs_reuse_gain_t *gain)
{
    sum->hot_buffers += gain->hot_buffers;
    sum->sends       += gain->sends;
    sum->bytes       += gain->bytes;
    sum->saved       += gain->saved;
}
