/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_OPTS_H_
#define PREDREG_REPLAY_OPTS_H_

#include <tools/replay/budgets.h>
#include <tools/replay/replay.h>
#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file opts.h The options of `ucx_predreg replay`. */

typedef struct predreg_replay_opts {
    int                 policies[PREDREG_REPLAY_LAST]; /**< Whether each policy
                                                            is to be replayed */
    int                 policies_given;                /**< Whether they were
                                                            named */
    uint64_t            limits[PREDREG_REPLAY_LAST];   /**< Limit of each
                                                            policy; 0: none was
                                                            given */
    uct_predreg_knobs_t knobs;
    predreg_cost_t      reg;         /**< Cost of registrations, if one was
                                          given */
    predreg_cost_t      dereg;
    int                 reg_given;
    int                 dereg_given;
    int                 shared_processor; /**< Whether the helper has no
                                               processor of its own */
    unsigned            num_ranks;   /**< Ranks of a larger job; 0: no such job
                                          is asked for */
    unsigned            ranks_per_node; /**< Of the larger job; 0: not given */
    unsigned            cores_per_node; /**< Likewise */
    uint64_t            node_max;    /**< What a node of the larger job can
                                          register, bytes */
    int                 curve;       /**< Whether predict is played with all
                                          budgets */
    predreg_budgets_t   budgets;     /**< These; the usual one is what the knob
                                          says */
    int                 json;
    int                 per_rank;
    int                 num_paths;
    char                **paths;     /**< Folders of traces, and traces */
} predreg_replay_opts_t;


/**
 * Read the options. If help is asked for, this prints it and ends the program.
 *
 * @param [out] opts  The options; the caller has to clean them up in any case.
 * @return 0, or the exit status if an option is wrong, and the reason has been
 *         printed.
 */
int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts);

void predreg_replay_opts_cleanup(predreg_replay_opts_t *opts);

END_C_DECLS

#endif
