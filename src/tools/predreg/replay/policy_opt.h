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
 * Option --policy of `ucx_predreg replay`, by the table of policies. Called by
 * opts.c.
 */

/**
 * Take policies from a list POLICY[=LIMIT][,POLICY[=LIMIT]]... The option may
 * be given several times.
 *
 * @param [in,out] chosen  By policy: 1 if it is in the list.
 * @param [in,out] limits  By policy: the limit, if one is given.
 * @return 0, or -1 if something is wrong, which was said.
 */
int predreg_policy_opt_parse(const char *list, int *chosen, uint64_t *limits);

/** @return what is accepted, as in "predict, lru[=BYTES]"; free it or let it
 *          be. */
char *predreg_policy_opt_accepted(void);

END_C_DECLS

#endif
