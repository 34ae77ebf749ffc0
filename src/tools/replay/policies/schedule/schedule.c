/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "search.h"

#include <tools/base/containers.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * The score by which victims are chosen (choose.c) alone does not find the best schedule:
 * it looks at one registration at a time. Of 3000 random programs of three to five buffers
 * it leaves 4.4 % above 1.05 times the least waits, up to 1.39 times, and 1.8 % if victims
 * are taken back that turn out to be in nobody's way. So bounded follows several plans at the same
 * time, which differ in their victims, and takes the one with the least waits in the end.
 * Of plans with the same registrations, only the one with the least waits so far goes on.
 * In a program of up to six buffers these are all plans that can be. Large programs have
 * few plans, or only one.
 */

/* The most plans that are followed at the same time: more than there are sets of six
 * buffers */
#define MAX_WIDTH 64

/* How many registrations bounded may copy from plan to plan, as search_width() estimates the
 * number: it limits how many plans are followed. So many take up to a second */
#define MAX_WORK (1ul << 31)

/* How many registrations can be looked at in the time of a step */
#define LOOKS_PER_STEP 16


static void plan_cleanup(predreg_plan_t *plan)
{
    predreg_kept_cleanup(&plan->kept);
    free(plan->out);
}

static predreg_plan_t plan_copy(const predreg_plan_t *from)
{
    predreg_plan_t plan = *from;

    plan.is_other = 1;
    plan.out      = predreg_grow_copy(from->out, from->num_out, sizeof(*from->out));
    predreg_kept_copy(&plan.kept, &from->kept);
    return plan;
}

static void plans_add(predreg_plans_t *plans, predreg_plan_t plan)
{
    *predreg_add(plans->list, plans->num) = plan;
}

/* Let one more registration give way. Then add the plan to the settled ones if the present
 * use has room, and else to the others */
static void give_way(predreg_search_t *search, predreg_plan_t plan, size_t victim,
                     predreg_plans_t *settled, predreg_plans_t *others)
{
    int is_settled = predreg_plan_give_way(search, &plan, victim);

    plans_add(is_settled ? settled : others, plan);
}

/* Let each of the best victims give way, in a plan of its own */
static void branch(predreg_search_t *search, const predreg_plan_t *plan,
                   predreg_plans_t *settled, predreg_plans_t *others)
{
    size_t victims[PREDREG_MAX_BRANCHES];
    unsigned num = predreg_plan_victims(search, plan, victims);

    while (--num > 0) {
        give_way(search, plan_copy(plan), victims[num], settled, others);
    }
    give_way(search, *plan, victims[0], settled, others);
}

/* Set what plans are compared by. A plan is better the less it has waited, and the
 * more the next uses of its registrations save */
static void evaluate(predreg_plan_t *plan, const predreg_search_t *search)
{
    const predreg_use_t *uses = search->timeline->uses;
    const predreg_use_t *use;
    const predreg_kept_t *kept;
    uint64_t hash;

    plan->hash = 0;
    plan->rank = plan->waits;
    predreg_for_each(kept, plan->kept.list, plan->kept.num) {
        use             = &uses[kept->use];
        hash            = (use->address * 31 + use->length) * 31;
        hash           += predreg_plan_is_used(search, kept) ? kept->until : 0;
        hash            = (hash * 31 + use->domain) * 2 + kept->is_lost;
        hash           *= 0x9e3779b97f4a7c15ul;
        plan->hash     += hash ^ (hash >> 29);
        if (kept->later != PREDREG_NO_USE) {
            plan->rank -= predreg_cost_of(&search->params->reg,
                                          uses[kept->later].address,
                                          uses[kept->later].length);
        }
    }
}

/* Brings the plans with the same registrations together, the best of them first */
PREDREG_COMPARE(compare_hashes, predreg_plan_t, hash, waits)

/* Brings the best plans to the begin, but the one that follows the score alone before
 * all others */
PREDREG_COMPARE(compare_ranks, predreg_plan_t, is_other, rank, hash)

/* Drop plans that another one replaces, and then the worst ones if there are too
 * many */
static void prune(const predreg_search_t *search, predreg_plans_t *plans)
{
    predreg_plan_t *last = NULL;
    predreg_plan_t *plan;

    if (plans->num <= 1) {
        return;
    }

    predreg_for_each(plan, plans->list, plans->num) {
        evaluate(plan, search);
    }
    qsort(plans->list, plans->num, sizeof(*plan), compare_hashes);
    predreg_for_each(plan, plans->list, plans->num) {
        if ((last != NULL) && (last->hash == plan->hash)) {
            last->is_other &= plan->is_other;
            plan_cleanup(plan);
        } else {
            last  = (last == NULL) ? plans->list : (last + 1);
            *last = *plan;
        }
    }

    plans->num = last + 1 - plans->list;
    qsort(plans->list, plans->num, sizeof(*plan), compare_ranks);
    while (plans->num > search->width) {
        plan_cleanup(&plans->list[--plans->num]);
    }
}

static void use_comes(predreg_search_t *search, size_t index)
{
    predreg_plans_t settled = {};
    predreg_plans_t open    = {};
    predreg_plans_t others;
    predreg_plan_t *plan;
    int is_settled;

    search->index = index;
    search->use   = &search->timeline->uses[index];
    search->bytes = ucs_rcache_pred_pages(search->use->address, search->use->length,
                                          PREDREG_PAGE_SIZE) * PREDREG_PAGE_SIZE;
    predreg_for_each(plan, search->plans.list, search->plans.num) {
        is_settled = predreg_plan_begin(search, plan);
        plans_add(is_settled ? &settled : &open, *plan);
    }

    while (open.num > 0) {
        others = (predreg_plans_t){};
        predreg_for_each(plan, open.list, open.num) {
            branch(search, plan, &settled, &others);
        }
        prune(search, &others);
        free(open.list);
        open = others;
    }

    prune(search, &settled);
    free(open.list);
    free(search->plans.list);
    search->plans = settled;
}

/* The next use comes: before it, let each unmap take effect that the program made until the
 * begin of the use */
static void unmaps_come(predreg_search_t *search, const predreg_use_t *use)
{
    const predreg_unmap_t *unmap;
    predreg_plan_t *plan;

    for (; search->unmaps < search->timeline->num_unmaps; ++search->unmaps) {
        unmap = &search->timeline->unmaps[search->unmaps];
        if (unmap->time > use->begin) {
            break;
        }

        predreg_for_each(plan, search->plans.list, search->plans.num) {
            predreg_kept_unmap(&plan->kept, unmap);
        }
    }
}

/* @return how many plans are followed at the same time. Each has up to as many
 *         registrations as there are ranges. Before a use, up to as many give way, one
 *         after the other, each by a copy for each branch. */
static size_t search_width(const predreg_search_t *search)
{
    size_t num_ranges = search->future.num_ranges;
    double work       = (double)search->timeline->num_uses * num_ranges * num_ranges;
    size_t width      = search->params->is_lru ? 1 : MAX_WIDTH;

    while ((width > 1) &&
           (width * ucs_min(width, PREDREG_MAX_BRANCHES) * work > MAX_WORK)) {
        --width;
    }
    return width;
}

static void search_init(predreg_search_t *search, const predreg_timeline_t *timeline,
                        const predreg_schedule_params_t *params)
{
    uint64_t max_bytes = params->max_bytes;

    *search = (predreg_search_t){
        .timeline    = timeline,
        .params      = params,
        .max_bytes   = max_bytes - ucs_rcache_pred_bound_reserve(max_bytes,
                                                                 PREDREG_PAGE_SIZE),
        .max_regions = params->max_regions - 1,
        .max_looks   = ucs_min(params->max_steps, UINT64_MAX / LOOKS_PER_STEP) *
                       LOOKS_PER_STEP
    };
    predreg_future_init(&search->future, timeline);
    search->width = search_width(search);
    plans_add(&search->plans, (predreg_plan_t){});
    predreg_kept_init(&search->plans.list->kept, &search->future);
}

static void search_cleanup(predreg_search_t *search)
{
    predreg_plan_t *plan;

    predreg_for_each(plan, search->plans.list, search->plans.num) {
        plan_cleanup(plan);
    }
    free(search->plans.list);
    free(search->decisions);
    predreg_future_cleanup(&search->future);
}

/* Get the decisions of the plan with the least waits */
static void get_decisions(const predreg_search_t *search, predreg_schedule_t *result)
{
    const predreg_plan_t *best = search->plans.list;
    const predreg_plan_t *plan;
    size_t i, k;

    predreg_for_each(plan, search->plans.list, search->plans.num) {
        best = (plan->waits < best->waits) ? plan : best;
    }

    result->num = 0;
    for (i = best->last; i > 0; i = search->decisions[i - 1].previous) {
        ++result->num;
    }

    result->decisions = predreg_alloc(result->num, sizeof(*result->decisions));
    k                 = result->num;
    for (i = best->last; i > 0; i = search->decisions[i - 1].previous) {
        result->decisions[--k] = search->decisions[i - 1].decision;
    }
}

ucs_status_t predreg_schedule_make(const predreg_timeline_t *timeline,
                                   const predreg_schedule_params_t *params,
                                   predreg_schedule_t *schedule)
{
    ucs_status_t status = UCS_OK;
    predreg_search_t search;
    size_t i;

    search_init(&search, timeline, params);
    for (i = 0; (i < timeline->num_uses) && (search.looks <= search.max_looks); ++i) {
        unmaps_come(&search, &timeline->uses[i]);
        use_comes(&search, i);
    }

    if (search.looks > search.max_looks) {
        ucs_warn("%s is left out: so many buffers are registered under the bound that "
                 "the choice of victims takes more than %lu steps",
                 params->is_lru ? "strict-lru" : "bounded", params->max_steps);
        status = UCS_ERR_UNSUPPORTED;
    } else {
        get_decisions(&search, schedule);
    }

    search_cleanup(&search);
    return status;
}
