/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_FIND_H_
#define PREDREG_INFO_FIND_H_

#include "facts.h"

BEGIN_C_DECLS

/** @file find.h
 *
 * Finds out which UCX a command would have, and what it and the library would do.
 * The sub-commands info and calibrate call this. */

/**
 * Find all facts but those about the machine.
 *
 * @param [in]  folder    Folder of this program.
 * @param [in]  library   The library to be preloaded; NULL: the one that 'run'
 *                        would preload.
 * @param [in]  is_small  Whether to measure what small sends cost, instead of
 *                        what registrations do.
 * @param [in]  command   With its arguments, up to a NULL; if there is none,
 *                        this is only the NULL.
 * @param [out] facts     All zero before. To be cleaned up by the caller.
 *
 * @return 0, or PREDREG_EXIT_NOT_FOUND, and the reason has been printed; then
 *         there is nothing to clean up.
 */
int predreg_facts_find(const char *folder, const char *library, int is_small,
                       char *const *command, predreg_facts_t *facts);

void predreg_facts_cleanup(predreg_facts_t *facts);

END_C_DECLS

#endif
