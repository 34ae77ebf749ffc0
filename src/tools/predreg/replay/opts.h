/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_OPTS_H_
#define PREDREG_REPLAY_OPTS_H_

#include <tools/replay/replay.h>
#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file opts.h  What `ucx_predreg replay` is asked for. */

typedef struct predreg_replay_opts {
    int                 policies[PREDREG_REPLAY_LAST]; /**< To be replayed */
    uint64_t            limits[PREDREG_REPLAY_LAST];   /**< 0: none given */
    uct_predreg_knobs_t knobs;
    predreg_cost_t      reg;         /**< If given, else as recorded */
    predreg_cost_t      dereg;
    int                 reg_given;
    int                 dereg_given;
    unsigned            window;      /**< Uses that periodicity compares; 0: not
                                          given */
    unsigned            num_ranks;   /**< Of a larger job; 0: none is asked for */
    unsigned            ranks_per_node; /**< There; 0: not given */
    unsigned            cores_per_node; /**< Likewise */
    uint64_t            node_max;    /**< Likewise, bytes */
    int                 json;
    int                 per_rank;
    int                 num_paths;
    char                **paths;     /**< Folders and files */
} predreg_replay_opts_t;


/**
 * Ends the program if help is asked for.
 *
 * @param [out] opts  To be cleaned up, whatever is returned.
 * @return an exit status: 0, or what is wrong was said.
 */
int predreg_replay_opts_parse(int argc, char **argv,
                              predreg_replay_opts_t *opts);

void predreg_replay_opts_cleanup(predreg_replay_opts_t *opts);

END_C_DECLS

#endif
