/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rank.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/trace_files.h>

#include <stdlib.h>


static predreg_known_t known(int is_known, int is_page_known)
{
    return is_page_known ? PREDREG_KNOWN_ALL :
           is_known      ? PREDREG_KNOWN_SIZE :
                           PREDREG_KNOWN_NOT;
}

void predreg_rank_init(predreg_rank_t *rank, const ucs_rcache_trace_t *trace,
                       const predreg_timeline_t *timeline,
                       const predreg_replay_opts_t *opts)
{
    *rank = (predreg_rank_t){
        .path        = predreg_format("%s", trace->path),
        .number      = predreg_trace_rank(trace),
        .start       = predreg_rank_start(trace),
        .num_uses    = timeline->num_uses,
        .duration    = timeline->duration,
        .waited      = timeline->waited,
        .reg         = timeline->reg,
        .dereg       = timeline->dereg,
        .reg_known   = known(timeline->reg_known, timeline->reg_page_known),
        .dereg_known = known(timeline->dereg_known, timeline->dereg_page_known),
        .damage      = { .lost      = trace->lost,
                         .truncated = trace->truncated }
    };
    rank->has_number     = (rank->number >= 0);
    rank->damage.guessed = (!opts->reg_given &&
                            (rank->reg_known != PREDREG_KNOWN_ALL)) ||
                           (!opts->dereg_given &&
                            (rank->dereg_known != PREDREG_KNOWN_ALL));
}

void predreg_rank_cleanup(predreg_rank_t *rank)
{
    free(rank->path);
}
