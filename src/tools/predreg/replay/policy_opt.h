/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_POLICY_OPT_H_
#define PREDREG_REPLAY_POLICY_OPT_H_

#include <tools/replay/policies/policies.h>

BEGIN_C_DECLS

/** @file policy_opt.h
 *
 * Reads the option --policy of `ucx_predreg replay`, with the table of
 * policies. opts.c calls this.
 */

/**
 * Read policies from a list POLICY[=LIMIT][,POLICY[=LIMIT]]... This may be
 * called several times, since the option may be given several times.
 *
 * @param [in,out] chosen For each policy: set to 1 if it is in the list.
 * @param [in,out] limits For each policy: set to its limit, if one is given.
 * @return 0, or -1 if the list is wrong, and the reason has been printed.
 */
int predreg_policy_opt_parse(const char *list, int *chosen, uint64_t *limits);

/** @return what is accepted, as in "predict, lru[=BYTES]". The caller may free
 *  the string, or leave it to the end of the program. */
char *predreg_policy_opt_accepted(void);

END_C_DECLS

#endif
