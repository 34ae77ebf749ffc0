/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COSTS_TEXT_H_
#define UCT_PREDREG_COSTS_TEXT_H_

#include <ucs/reuse/costs.h>

BEGIN_C_DECLS

/** @file costs_text.h
 *
 * Costs as a line of text, for traces and for the tools: whole
 * numbers of picoseconds, separated by spaces, whatever the locale. First come
 * the call, page and lookup, then the copies of all classes. Pure.
 */

/** The key under which a trace has what small sends cost where it was recorded. */
#define UCT_PREDREG_COSTS_META "eager_costs"

/** So long a text may become, its end included. */
#define UCT_PREDREG_COSTS_TEXT_MAX 2048


/** Print costs, which are as uct_predreg_measure() makes them. What is more
 *  than a second becomes a second. */
void uct_predreg_costs_print(const ucs_reuse_costs_t *costs,
                             char text[UCT_PREDREG_COSTS_TEXT_MAX]);

/**
 * Read costs.
 *
 * @return whether this is what @ref uct_predreg_costs_print may have printed:
 *         all the numbers and no others, none of more than a second, and copies
 *         that do not get cheaper with the length. Else the costs are undefined.
 */
int uct_predreg_costs_parse(const char *text, ucs_reuse_costs_t *costs);

END_C_DECLS

#endif
