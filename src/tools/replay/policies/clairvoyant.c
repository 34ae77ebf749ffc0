/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"

#include <tools/replay/account/account.h>
#include <tools/replay/models/segments.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * The least byte-seconds of any schedule, and the schedule that has them: each
 * use has a registration of its own, which is complete when the use begins, and
 * given up when it ends; a page counts once however many registrations hold it.
 * docs/clairvoyant.md proves that there is nothing less.
 *
 * The addresses at which uses and unmaps begin and end divide memory into
 * segments, whose pages share their fate. A segment is in use, or there is a
 * gap; what it is registered for in a gap follows from the deregistrations that
 * still go on, and the registrations that have to begin:
 *
 *        use            gap             use      gap      use
 *     =========|----|.........|-----|=========|-------|=========
 *              dereg            reg              kept
 */


/* The shortest registration that serves a use. Times are those of the
 * ledger. */
typedef struct span {
    int64_t        start;   /* Registration begins */
    int64_t        begin;
    int64_t        end;
    int64_t        stop;    /* Deregistration ends */
    uint64_t       mapping; /* How often each of its segments had been unmapped
                               before, added up: uses of one range see the same
                               memory if this is the same */
    predreg_site_t *site;
} span_t;

/* A use of a segment */
typedef struct visit {
    size_t  use;      /* Its index */
    int64_t start;    /* When the first registration for this use, or for a later
                         use of the same memory, begins */
} visit_t;

typedef struct bound {
    const predreg_timeline_t *timeline;
    predreg_account_t        *account;
    predreg_segments_t       segments;
    span_t                   *spans;   /* By use */
    visit_t                  *visits;  /* Room for those of a segment */
    uint64_t                 bytes;    /* Size of the present segment */
} bound_t;


static ucs_status_t bound_init(bound_t *bound)
{
    size_t num_uses = bound->timeline->num_uses;

    /* Each array has room for one more: one of nothing might be NULL */
    bound->spans  = calloc(num_uses + 1, sizeof(*bound->spans));
    bound->visits = calloc(num_uses + 1, sizeof(*bound->visits));
    if ((bound->spans == NULL) || (bound->visits == NULL)) {
        return UCS_ERR_NO_MEMORY;
    }

    return predreg_segments_init(&bound->segments, bound->timeline);
}

static void bound_cleanup(bound_t *bound)
{
    predreg_segments_cleanup(&bound->segments);
    free(bound->visits);
    free(bound->spans);
}

static void bound_add_use(bound_t *bound, size_t index,
                          const predreg_replay_params_t *params)
{
    const predreg_use_t *use = &bound->timeline->uses[index];
    span_t *span             = &bound->spans[index];

    *span = (span_t){
        .start = (int64_t)use->begin -
                 (int64_t)predreg_cost_of(&params->reg, use->address,
                                          use->length),
        .begin = use->begin,
        .end   = use->end,
        .stop  = use->end + predreg_cost_of(&params->dereg, use->address,
                                            use->length),
        .site  = predreg_account_site(bound->account, &use->context)
    };

    /* Each use finds its memory registered, and does not wait */
    predreg_account_use(bound->account, span->site, 1, 0, 0);
}

/* The present segment is registered for this cause and for the sake of a use.
 * What is registered after the end of the program counts under no policy. */
static void bound_add(bound_t *bound, const visit_t *visit, int64_t begin,
                      int64_t end, predreg_cause_t cause)
{
    predreg_account_add(bound->account, bound->spans[visit->use].site, begin,
                        ucs_min(end, (int64_t)bound->timeline->duration),
                        bound->bytes, cause);
}

/* Add the gap between two visits, in which nobody uses the segment */
static void bound_add_gap(bound_t *bound, const visit_t *last, int64_t end,
                          int64_t stop, const visit_t *next)
{
    int64_t begin = bound->spans[next->use].begin;

    if (stop >= next->start) {
        bound_add(bound, next, end, begin, PREDREG_CAUSE_KEPT);
    } else {
        bound_add(bound, last, end, stop, PREDREG_CAUSE_DEREG);
        bound_add(bound, next, next->start, begin, PREDREG_CAUSE_REG);
    }
}

/* Say when the registrations for visits begin. Nothing can be registered before
 * it is mapped. */
static void bound_set_starts(const bound_t *bound, visit_t *visits,
                             size_t num_visits, int64_t mapped)
{
    int64_t start = INT64_MAX;
    visit_t *visit;

    for (visit = visits + num_visits; visit-- > visits;) {
        start        = ucs_min(start, ucs_max(bound->spans[visit->use].start,
                                              mapped));
        visit->start = start;
    }
}

/* Add visits that see the same memory. They are sorted by their begins. */
static void bound_add_mapping(bound_t *bound, visit_t *visits,
                              size_t num_visits, int64_t mapped)
{
    const visit_t *first = visits; /* Since then there was no gap */
    const visit_t *last  = visits; /* So far, ends last */
    int64_t stop         = INT64_MIN;
    const visit_t *visit;
    const span_t *span;

    bound_set_starts(bound, visits, num_visits, mapped);
    bound_add(bound, visits, visits->start, bound->spans[visits->use].begin,
              PREDREG_CAUSE_REG);
    for (visit = visits; visit < visits + num_visits; ++visit) {
        span = &bound->spans[visit->use];
        if (span->begin > bound->spans[last->use].end) {
            bound_add(bound, first, bound->spans[first->use].begin,
                      bound->spans[last->use].end, PREDREG_CAUSE_USE);
            bound_add_gap(bound, last, bound->spans[last->use].end, stop,
                          visit);
            first = visit;
        }

        last = (span->end > bound->spans[last->use].end) ? visit : last;
        stop = ucs_max(stop, span->stop);
    }
    bound_add(bound, first, bound->spans[first->use].begin,
              bound->spans[last->use].end, PREDREG_CAUSE_USE);
    bound_add(bound, last, bound->spans[last->use].end, stop,
              PREDREG_CAUSE_DEREG);
}

/* Add a segment. An unmap divides its uses into those that see the memory
 * before it and those that see what is mapped after it. */
static void bound_add_segment(void *arg, const predreg_cover_t *uses,
                              const predreg_cover_t *unmaps, uint64_t bytes)
{
    bound_t *bound    = arg;
    const predreg_unmap_t *unmap;
    size_t num_visits = 0;
    size_t num_unmaps = 0;
    int64_t mapped    = INT64_MIN;
    span_t *span;
    size_t i;

    bound->bytes = bytes;
    for (i = 0; i < uses->num_ranges; ++i) {
        span = &bound->spans[uses->ranges[i].index];
        for (; num_unmaps < unmaps->num_ranges; ++num_unmaps) {
            unmap = &bound->timeline->unmaps
                             [unmaps->ranges[num_unmaps].index];
            if ((int64_t)unmap->time > span->begin) {
                break;
            }

            if (num_visits > 0) {
                bound_add_mapping(bound, bound->visits, num_visits, mapped);
                num_visits = 0;
            }
            mapped = unmap->time;
        }

        span->mapping                    += num_unmaps;
        bound->visits[num_visits++].use   = uses->ranges[i].index;
    }
    bound_add_mapping(bound, bound->visits, num_visits, mapped);
}

/*
 * Registrations of the schedule, and the time they take. Uses of the same
 * memory share one, if it would be no sooner given up for the first than made
 * for the second.
 */
static void bound_count_regs(const bound_t *bound,
                             predreg_replay_result_t *result)
{
    const predreg_range_t *range, *last = NULL;
    int64_t stop = 0;
    const span_t *span;

    for (range = bound->segments.uses;
         range < bound->segments.uses + bound->timeline->num_uses; ++range) {
        span = &bound->spans[range->index];
        if ((last == NULL) || (range->domain != last->domain) ||
            (range->first != last->first) || (range->end != last->end) ||
            (span->mapping != bound->spans[last->index].mapping) ||
            (span->start > stop)) {
            ++result->regs;
            result->helper += (span->begin - span->start) +
                              (span->stop - span->end);
            stop            = span->stop;
        }

        stop = ucs_max(stop, span->stop);
        last = range;
    }
}

ucs_status_t predreg_replay_clairvoyant(const predreg_timeline_t *timeline,
                                        const predreg_replay_params_t *params,
                                        predreg_replay_result_t *result)
{
    bound_t bound = { .timeline = timeline };
    ucs_status_t status;
    size_t i;

    status = predreg_account_create(&bound.account);
    if (status != UCS_OK) {
        return status;
    }

    status = bound_init(&bound);
    if (status != UCS_OK) {
        goto out;
    }

    for (i = 0; i < timeline->num_uses; ++i) {
        bound_add_use(&bound, i, params);
    }

    status = predreg_segments_visit(&bound.segments, bound_add_segment, &bound);
    if (status != UCS_OK) {
        goto out;
    }

    status = predreg_account_result(bound.account, timeline->duration, result);
    if (status == UCS_OK) {
        bound_count_regs(&bound, result);
    }

out:
    bound_cleanup(&bound);
    predreg_account_destroy(bound.account);
    return status;
}
