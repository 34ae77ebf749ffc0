/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "search.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <float.h>

/*
 * Both policies register a use that no registration serves. If there is no room, idle
 * registrations give way one after the other until there is: first those of unmapped
 * memory, and then those with the highest score. Under strict-lru the score is the time
 * since the last use. Under bounded it is
 *
 *     room * time to the next use / cost of the next registration,
 *
 * where room is the bytes or, if only the bound on regions is short, 1. A registration
 * that turns out to be in nobody's way stays.
 */


static uint64_t cost(const predreg_cost_t *cost, const predreg_use_t *use)
{
    return predreg_cost_of(cost, use->address, use->length);
}

static void decide(predreg_search_t *search, predreg_plan_t *plan, size_t registration,
                   int gives_way)
{
    *predreg_add(search->decisions, search->num_decisions) = (predreg_decided_t){
        .decision = {registration, gives_way},
        .previous = plan->last
    };
    plan->last = search->num_decisions;
}

/* Let a registration give way. take_back() may undo that while the present use is decided
 * about */
static void take_out(const predreg_search_t *search, predreg_plan_t *plan, size_t place)
{
    predreg_kept_t kept = plan->kept.list[place];

    predreg_kept_remove(&plan->kept, place);
    *predreg_add(plan->out, plan->num_out) = kept;
    plan->waits += cost(&search->params->dereg, &search->timeline->uses[kept.use]);
}

static int has_bytes(const predreg_search_t *search, uint64_t more)
{
    return (more <= search->max_bytes) && (search->bytes <= search->max_bytes - more);
}

/* Whether there is room for the present use beside so many bytes and registrations */
static int has_room_beside(const predreg_search_t *search, uint64_t bytes, uint64_t regions)
{
    return has_bytes(search, bytes) && (regions < search->max_regions);
}

static int has_room(const predreg_search_t *search, const predreg_plan_t *plan)
{
    return has_room_beside(search, plan->kept.bytes, plan->kept.num);
}

static double score(const predreg_search_t *search, const predreg_plan_t *plan,
                    const predreg_kept_t *kept)
{
    const predreg_use_t *uses = search->timeline->uses;
    double room               = has_bytes(search, plan->kept.bytes) ? 1 : kept->bytes;

    if (search->params->is_lru) {
        return search->use->begin - kept->until;
    }

    if (kept->later == PREDREG_NO_USE) {
        return DBL_MAX / UINT64_MAX * room /
               (cost(&search->params->dereg, &uses[kept->use]) + 1);
    }

    return room * (uses[kept->later].begin - search->use->begin) /
           (cost(&search->params->reg, &uses[kept->later]) + 1);
}

unsigned predreg_plan_victims(predreg_search_t *search, const predreg_plan_t *plan,
                              size_t *victims)
{
    const predreg_kept_all_t *kept = &plan->kept;
    unsigned max                   = ucs_min(search->width, PREDREG_MAX_BRANCHES);
    unsigned num                   = 0;
    double scores[PREDREG_MAX_BRANCHES];
    double value;
    unsigned k;
    size_t i;

    search->looks += kept->num;
    for (i = 0; i < kept->num; ++i) {
        if (predreg_plan_is_used(search, &kept->list[i])) {
            continue;
        }

        value = score(search, plan, &kept->list[i]);
        if ((num == max) && (value <= scores[num - 1])) {
            continue;
        }

        num = ucs_min(num + 1, max);
        for (k = num - 1; (k > 0) && (scores[k - 1] < value); --k) {
            scores[k]  = scores[k - 1];
            victims[k] = victims[k - 1];
        }
        scores[k]  = value;
        victims[k] = i;
    }

    return num;
}

/* The policy bounded needs the next use of each registration that could serve the present
 * use: find these next uses. The policy strict-lru needs none */
static void look_ahead(const predreg_search_t *search, predreg_plan_t *plan)
{
    if (!search->params->is_lru) {
        predreg_kept_look_ahead(&plan->kept, search->index, search->unmaps);
    }
}

/* Under bounded, keep what gives way and yet fits beside the present use */
static void take_back(const predreg_search_t *search, predreg_plan_t *plan)
{
    predreg_kept_t *out;
    size_t i;

    for (i = plan->num_out; (i-- > 0) && !search->params->is_lru;) {
        out = &plan->out[i];
        if (!out->is_lost && has_room_beside(search, plan->kept.bytes + out->bytes,
                                             plan->kept.num + 1)) {
            plan->waits -= cost(&search->params->dereg,
                                &search->timeline->uses[out->use]);
            predreg_kept_add(&plan->kept, out);
            *out = plan->out[--plan->num_out];
        }
    }
}

/* Register the present use, for which there is room */
static void settle(predreg_search_t *search, predreg_plan_t *plan)
{
    predreg_kept_t kept = {
        .use   = search->index,
        .bytes = search->bytes,
        .until = search->use->end
    };
    predreg_kept_t *out;

    take_back(search, plan);
    predreg_for_each(out, plan->out, plan->num_out) {
        decide(search, plan, out->use, 1);
    }

    plan->num_out  = 0;
    plan->waits   += cost(&search->params->reg, search->use);
    predreg_kept_add(&plan->kept, &kept);
    look_ahead(search, plan);
    decide(search, plan, search->index, 0);
}

/* Let registrations of unmapped memory give way, unless they are in use */
static void take_lost(const predreg_search_t *search, predreg_plan_t *plan)
{
    const predreg_kept_all_t *kept = &plan->kept;
    size_t i;

    for (i = kept->num; (i-- > 0) && (kept->num_lost > 0);) {
        if (kept->list[i].is_lost && !predreg_plan_is_used(search, &kept->list[i])) {
            take_out(search, plan, i);
        }
    }
}

/* Whether the present use fits beside what is in use */
static int fits(const predreg_search_t *search, const predreg_plan_t *plan)
{
    uint64_t bytes   = 0;
    uint64_t regions = 0;
    const predreg_kept_t *kept;

    if (has_room(search, plan)) {
        return 1;
    }

    predreg_for_each(kept, plan->kept.list, plan->kept.num) {
        bytes   += predreg_plan_is_used(search, kept) ? kept->bytes : 0;
        regions += predreg_plan_is_used(search, kept);
    }
    return has_room_beside(search, bytes, regions);
}

int predreg_plan_begin(predreg_search_t *search, predreg_plan_t *plan)
{
    predreg_kept_t *kept;

    look_ahead(search, plan);
    kept = predreg_kept_find(&plan->kept, search->index);
    if (kept != NULL) {
        kept->until = ucs_max(kept->until, search->use->end);
        decide(search, plan, kept->use, 0);
        return 1;
    }

    if (!fits(search, plan)) {
        plan->waits += predreg_copy_time(search->use->length);
        decide(search, plan, PREDREG_NO_USE, 0);
        return 1;
    }

    take_lost(search, plan);
    if (!has_room(search, plan)) {
        return 0;
    }

    settle(search, plan);
    return 1;
}

int predreg_plan_give_way(predreg_search_t *search, predreg_plan_t *plan, size_t victim)
{
    take_out(search, plan, victim);
    if (!has_room(search, plan)) {
        return 0;
    }

    settle(search, plan);
    return 1;
}
