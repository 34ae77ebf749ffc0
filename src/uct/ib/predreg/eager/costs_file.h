/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COSTS_FILE_H_
#define UCT_PREDREG_COSTS_FILE_H_

#include <ucs/reuse/costs.h>

#include <limits.h>

BEGIN_C_DECLS

/** @file costs_file.h
 *
 * Keeps measured costs in the user's cache folder, $XDG_CACHE_HOME or ~/.cache,
 * in a folder ucx-predreg, one file for each text of what they depend on. Only
 * what belongs to the user and to nobody else is read or written, and in that
 * folder no symbolic link is followed. Nothing is logged: the functions return
 * the reason why they did nothing, for the caller to print. Any thread and any
 * process may call them at any time.
 */

/**
 * Read costs.
 *
 * @param [in]  depends  See uct_predreg_costs_depends().
 * @param [out] costs    Undefined unless they were read.
 * @return NULL, or why they were not read.
 */
const char *uct_predreg_costs_load(const char *depends,
                                   ucs_reuse_costs_t *costs);

/** Keep costs. What was kept before is replaced at once, so that readers find
 *  either.
 *  @return NULL, or why they were not kept. */
const char *uct_predreg_costs_store(const char *depends,
                                    const ucs_reuse_costs_t *costs);

/** Say where costs are kept, whether there is such a file or not.
 *  @param [out] path  Empty: nowhere. */
void uct_predreg_costs_path(const char *depends, char path[PATH_MAX]);

END_C_DECLS

#endif
