/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOB_TEXT_H_
#define UCT_PREDREG_KNOB_TEXT_H_

#include "knobs.h"

BEGIN_C_DECLS

/** @file knob_text.h
 *
 * The functions that UCX's configuration parser has the knobs read and printed
 * with: knobs.c names them in its table. The last argument of each of them is
 * the name of the knob, without its prefix. What they accept is in
 * uct_predreg_knob_values. A value that is not accepted is logged, and noted in
 * the knobs that it was to get into; UCX is told that it was read, since its own
 * message would not have the whole name of the variable.
 */

/** What the names of the variables begin with: both, one after the other. */
#define UCT_PREDREG_ENV_PREFIX  "UCX_"
#define UCT_PREDREG_KNOB_PREFIX "RCACHE_PRED_"


/** The values of all knobs that are no strings. An entry whose name is NULL
 *  ends the list. */
extern const uct_predreg_knob_values_t uct_predreg_knob_values[];

/** Read a text into a field. @return 1. */
int uct_predreg_knob_read_number(const char *text, void *dest,
                                 const void *name);
int uct_predreg_knob_read_percent(const char *text, void *dest,
                                  const void *name);
int uct_predreg_knob_read_name(const char *text, void *dest, const void *name);
int uct_predreg_knob_read_bool(const char *text, void *dest, const void *name);

/** Print a field. @return 1. */
int uct_predreg_knob_write_percent(char *buf, size_t max, const void *src,
                                   const void *name);
int uct_predreg_knob_write_name(char *buf, size_t max, const void *src,
                                const void *name);

/** Copy a field. @return UCS_OK. */
ucs_status_t uct_predreg_knob_clone_percent(const void *src, void *dest,
                                            const void *name);

/** Print which values are accepted. */
void uct_predreg_knob_help_name(char *buf, size_t max, const void *name);
void uct_predreg_knob_help_number(char *buf, size_t max, const void *name);

END_C_DECLS

#endif
