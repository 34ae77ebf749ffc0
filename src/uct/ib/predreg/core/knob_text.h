/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOB_TEXT_H_
#define UCT_PREDREG_KNOB_TEXT_H_

#include "knobs.h"

#include <uct/ib/predreg/compat/config_table.h>

BEGIN_C_DECLS

/** @file knob_text.h
 *
 * The types of the knobs: how values are read, printed, copied and freed, for
 * knobs.c, and for UCX, which knobs.c hands its table to. What is accepted is
 * in uct_predreg_knob_values. A value that is not accepted is logged, and noted in
 * the knobs that it was to get into; the caller is told that it was read, since
 * UCX's own message would not have the whole name of the variable.
 */

/** What the names of the variables begin with: both, one after the other. */
#define UCT_PREDREG_ENV_PREFIX  "UCX_"
#define UCT_PREDREG_KNOB_PREFIX "RCACHE_PRED_"


/** The values of all knobs that are no strings. An entry whose name is NULL
 *  ends the list. */
extern const uct_predreg_knob_values_t uct_predreg_knob_values[];

/** Numbers: unsigned, unsigned long and size_t. */
extern const uct_predreg_config_type_t uct_predreg_knob_number;

/** Percentages: double. */
extern const uct_predreg_config_type_t uct_predreg_knob_percent;

/** Values that have names: unsigned, the place of the name in the list. */
extern const uct_predreg_config_type_t uct_predreg_knob_name;

/** Yes or no: int. */
extern const uct_predreg_config_type_t uct_predreg_knob_bool;

/** Any text: char*. */
extern const uct_predreg_config_type_t uct_predreg_knob_string;

/** Texts separated by commas: ucs_config_names_array_t. */
extern const uct_predreg_config_type_t uct_predreg_knob_list;

END_C_DECLS

#endif
