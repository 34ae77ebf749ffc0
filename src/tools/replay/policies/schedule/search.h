/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_SEARCH_H_
#define PREDREG_SEARCH_H_

#include "kept.h"
#include "schedule.h"

BEGIN_C_DECLS

/** @file search.h
 *
 * The search for a schedule. It follows one plan or several, from use to use (schedule.c).
 * What becomes of the present use in a plan is up to choose.c.
 */

/** The most victims that are tried in a plan in place of one. */
#define PREDREG_MAX_BRANCHES 8


/** A schedule up to the present use. */
typedef struct predreg_plan {
    predreg_kept_all_t kept;
    predreg_kept_t     *out;     /**< What gives way before the present use */
    size_t             num_out;
    uint64_t           waits;    /**< So far, ns */
    double             rank;     /**< Waits less what the next uses save, ns: the
                                      lower, the better */
    uint64_t           hash;     /**< Of what is kept */
    int                is_other; /**< Whether the plan once did not follow the score */
    size_t             last;     /**< Its last decision, plus 1; 0: there is none */
} predreg_plan_t;

/** A decision of a plan. */
typedef struct predreg_decided {
    predreg_decision_t decision;
    size_t             previous; /**< As last of the plan */
} predreg_decided_t;

/** Plans, in no order unless prune() has sorted them. */
typedef struct predreg_plans {
    predreg_plan_t *list;
    size_t         num;
} predreg_plans_t;

typedef struct predreg_search {
    const predreg_timeline_t        *timeline;
    const predreg_schedule_params_t *params;
    predreg_future_t                future;
    uint64_t                        max_bytes;   /**< Less the reserve for pieces */
    uint64_t                        max_regions;
    size_t                          width;       /**< The most plans at a time */
    predreg_plans_t                 plans;
    predreg_decided_t               *decisions;  /**< Of all plans */
    size_t                          num_decisions;
    uint64_t                        looks;       /**< Registrations looked at for victims */
    uint64_t                        max_looks;
    const predreg_use_t             *use;        /**< The present one */
    size_t                          index;       /**< Of the present use */
    uint64_t                        bytes;       /**< Bytes of the pages of the present
                                                      use */
    size_t                          unmaps;      /**< Number of unmaps that have come */
} predreg_search_t;


/** Let the present use begin in a plan. @return 0 if idle registrations have to give
 *  way before. */
int predreg_plan_begin(predreg_search_t *search, predreg_plan_t *plan);

/** Find the idle registrations with the highest scores.
 *  @param [out] victims  Their places; has room for PREDREG_MAX_BRANCHES.
 *  @return how many there are, at least 1. */
unsigned predreg_plan_victims(predreg_search_t *search, const predreg_plan_t *plan,
                              size_t *victims);

/** Let one more registration give way. @return whether the present use then has room, and
 *  was registered. */
int predreg_plan_give_way(predreg_search_t *search, predreg_plan_t *plan, size_t victim);

/** Whether a use of a registration is under way. Ends come before begins of the same
 *  time. */
static inline int
predreg_plan_is_used(const predreg_search_t *search, const predreg_kept_t *kept)
{
    return kept->until > search->use->begin;
}

END_C_DECLS

#endif
