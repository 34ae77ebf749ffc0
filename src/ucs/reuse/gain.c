/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "gain.h"

#include <ucs/sys/math.h>


/* What of a buffer counts: sends with lengths for which registering may pay,
 * and that are not copied in any case */
typedef struct counted {
    uint64_t sends;
    uint32_t threshold; /* The least of their lengths */
    uint64_t length;    /* The longest one: so much is registered */
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

    /* A buffer is registered by the send that makes their number reach the
     * threshold, and that send goes without the copy already */
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
