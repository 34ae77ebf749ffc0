/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs.h"

#include <ucs/base/align.h>

#include <math.h>
#include <stdio.h>

/* Costs as text: the number of parts before the copies; the unit; and the
 * longest time, a second, whose number has 13 digits */
#define NUM_PARTS     3
#define PSEC_PER_NSEC 1000
#define MAX_PSEC      1000000000000ul


double ucs_reuse_registration(const ucs_reuse_costs_t *costs, size_t length)
{
    /* A buffer may begin anywhere in a page: each byte after the first one
     * begins a new page with the probability 1 / (size of a page) */
    return costs->reg_call +
           (costs->reg_page *
            (1 + ((length - 1.) / ucs_page_size())));
}

void ucs_reuse_costs_init(ucs_reuse_costs_t *costs)
{
    unsigned i;

    costs->reg_call = costs->reg_page = costs->lookup = INFINITY;
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs->copy[i] = INFINITY;
    }
}

void ucs_reuse_costs_refine(ucs_reuse_costs_t *costs,
                            const ucs_reuse_costs_t *other)
{
    unsigned i;

    if (other->reg_call + other->reg_page < costs->reg_call + costs->reg_page) {
        costs->reg_call = other->reg_call;
        costs->reg_page = other->reg_page;
    }

    costs->lookup = fmin(costs->lookup, other->lookup);
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs->copy[i] = fmin(costs->copy[i], other->copy[i]);
    }
}

uint32_t ucs_reuse_break_even(const ucs_reuse_costs_t *costs, size_t length)
{
    double gain = costs->copy[ucs_reuse_class(length)] - costs->lookup;
    double sends;

    /* NAN is neither above 0 nor below another number */
    if (!(gain > 0)) {
        return UCS_REUSE_NEVER;
    }

    sends = floor(ucs_reuse_registration(costs, length) / gain) + 1;
    return (sends < UCS_REUSE_NEVER) ? (uint32_t)sends : UCS_REUSE_NEVER;
}

void ucs_reuse_thresholds(const ucs_reuse_costs_t *costs, double fraction,
                          uint32_t sends[UCS_REUSE_NUM_CLASSES])
{
    uint32_t break_even;
    unsigned i;

    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        break_even = ucs_reuse_break_even(costs, (i + 1) * UCS_REUSE_STEP);
        sends[i]   = (break_even == UCS_REUSE_NEVER) ? UCS_REUSE_NEVER :
                     (uint32_t)ceil(fraction * break_even);
    }
}

static double *value_of(ucs_reuse_costs_t *costs, unsigned i)
{
    double *parts[NUM_PARTS] = {
        &costs->reg_call, &costs->reg_page, &costs->lookup
    };

    return (i < NUM_PARTS) ? parts[i] : &costs->copy[i - NUM_PARTS];
}

void ucs_reuse_costs_print(const ucs_reuse_costs_t *costs,
                           char text[UCS_REUSE_COSTS_TEXT_MAX])
{
    ucs_reuse_costs_t copy = *costs;
    size_t length          = 0;
    unsigned i;

    UCS_STATIC_ASSERT((NUM_PARTS + UCS_REUSE_NUM_CLASSES) * 14 <
                      UCS_REUSE_COSTS_TEXT_MAX);
    for (i = 0; i < NUM_PARTS + UCS_REUSE_NUM_CLASSES; ++i) {
        length += snprintf(text + length, UCS_REUSE_COSTS_TEXT_MAX - length,
                           "%s%lu", (i == 0) ? "" : " ",
                           (unsigned long)fmin(round(*value_of(&copy, i) *
                                                     PSEC_PER_NSEC),
                                               MAX_PSEC));
    }
}

/* strtod() would depend on the locale, and accept the names of infinity and NAN */
static const char *parse_number(const char *text, double *value_p)
{
    unsigned long value = 0;
    const char *digit;

    for (digit = text; (*digit >= '0') && (*digit <= '9'); ++digit) {
        value = (10 * value) + (*digit - '0');
        if (value > MAX_PSEC) {
            return NULL;
        }
    }

    *value_p = (double)value / PSEC_PER_NSEC;
    return (digit == text) ? NULL : digit;
}

int ucs_reuse_costs_parse(const char *text, ucs_reuse_costs_t *costs)
{
    unsigned i;

    for (i = 0; i < NUM_PARTS + UCS_REUSE_NUM_CLASSES; ++i) {
        if ((i > 0) && (*text++ != ' ')) {
            return 0;
        }

        text = parse_number(text, value_of(costs, i));
        if ((text == NULL) ||
            ((i > NUM_PARTS) &&
             (*value_of(costs, i) < *value_of(costs, i - 1)))) {
            return 0;
        }
    }

    return *text == '\0';
}
