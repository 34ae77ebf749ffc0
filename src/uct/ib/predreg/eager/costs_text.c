/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs_text.h"

#include <math.h>
#include <stdio.h>

#define PSEC_PER_NSEC 1000
#define MAX_PSEC      1000000000000ul /* A second; 13 digits */
#define NUM_PARTS     3


static double *value_of(ucs_reuse_costs_t *costs, unsigned i)
{
    double *parts[NUM_PARTS] = {
        &costs->reg_call, &costs->reg_page, &costs->lookup
    };

    return (i < NUM_PARTS) ? parts[i] : &costs->copy[i - NUM_PARTS];
}

void uct_predreg_costs_print(const ucs_reuse_costs_t *costs,
                             char text[UCT_PREDREG_COSTS_TEXT_MAX])
{
    ucs_reuse_costs_t copy = *costs;
    size_t length          = 0;
    unsigned i;

    UCS_STATIC_ASSERT((NUM_PARTS + UCS_REUSE_NUM_CLASSES) * 14 <
                      UCT_PREDREG_COSTS_TEXT_MAX);
    for (i = 0; i < NUM_PARTS + UCS_REUSE_NUM_CLASSES; ++i) {
        length += snprintf(text + length, UCT_PREDREG_COSTS_TEXT_MAX - length,
                           "%s%lu", (i == 0) ? "" : " ",
                           (unsigned long)fmin(round(*value_of(&copy, i) *
                                                     PSEC_PER_NSEC),
                                               MAX_PSEC));
    }
}

/* strtod() would depend on the locale, and take names of what is no number */
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

int uct_predreg_costs_parse(const char *text, ucs_reuse_costs_t *costs)
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
