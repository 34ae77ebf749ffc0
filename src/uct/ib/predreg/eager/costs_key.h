/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COSTS_KEY_H_
#define UCT_PREDREG_COSTS_KEY_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file costs_key.h
 *
 * What measured costs depend on, as a line of text. The library and the command
 * ucx_predreg make the same of the same UCX, so that each finds what the other one
 * has measured.
 */

/** So long a text may become, its end included. */
#define UCT_PREDREG_COSTS_KEY_MAX 1024


/**
 * Name a UCX, and its memory domains that are managed.
 *
 * @param [in]  domains  Names, in any order; those of ones that are named twice
 *                       count once. The array is sorted.
 * @param [out] key      Empty if the names are too long.
 */
void uct_predreg_costs_key(unsigned major, unsigned minor, unsigned release,
                           const char **domains, unsigned num_domains,
                           char key[UCT_PREDREG_COSTS_KEY_MAX]);

/**
 * Add what the costs depend on in the machine: its processor, name, and size of
 * a page.
 *
 * @param [out] depends  One line. Empty if the key is, or if it became too long.
 */
void uct_predreg_costs_depends(const char *key,
                               char depends[UCT_PREDREG_COSTS_KEY_MAX]);

END_C_DECLS

#endif
