/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policies.h"
#include "schedule/segments.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Computes the schedule with the fewest byte-seconds. In this schedule each use has a
 * registration of its own, which is complete at the begin of the use, and whose
 * deregistration begins at the end of the use. A page counts once, however many
 * registrations hold it. docs/clairvoyant.md proves that no schedule has fewer
 * byte-seconds.
 *
 * The begins and ends of uses and unmaps in memory divide memory into segments.
 * All pages of a segment are registered at the same times. At any time a
 * segment is in use or in a gap between uses. In a gap it is registered until
 * the deregistration has ended, and from the begin of the next registration:
 *
 *        use            gap             use      gap      use
 *     =========|----|.........|-----|=========|-------|=========
 *              dereg            reg              kept
 */

/* The least time of a step, as measured on a machine of 2026, ns */
#define STEP_TIME 100


/* A use, and the shortest registration that serves it. The times are times of the
 * ledger */
typedef struct span {
    int64_t        start;   /* The registration begins */
    int64_t        begin;
    int64_t        end;
    int64_t        stop;    /* The deregistration ends */
    uint64_t       mapping; /* Number of unmaps, before the use, of the segments of the
                               use, summed up. Two uses of a range with the same number
                               see the same memory */
    predreg_site_t *site;
} span_t;

/* A use of a segment */
typedef struct visit {
    size_t  use;      /* Index of the use in the timeline */
    int64_t start;    /* Begin of the first registration for this use or for a
                         later use of the same memory */
} visit_t;

typedef struct bound {
    const predreg_timeline_t *timeline;
    predreg_account_t        account;
    predreg_segments_t       segments;
    span_t                   *spans;   /* Span of each use, indexed as the uses of the
                                          timeline */
    visit_t                  *visits;  /* Room for the visits of a segment */
    uint64_t                 bytes;    /* Size of the present segment */
} bound_t;


static void bound_init(bound_t *bound)
{
    size_t num_uses = bound->timeline->num_uses;

    bound->spans  = predreg_alloc(num_uses, sizeof(*bound->spans));
    bound->visits = predreg_alloc(num_uses, sizeof(*bound->visits));
    predreg_segments_init(&bound->segments, bound->timeline);
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
        .site  = predreg_account_site(&bound->account, &use->context)
    };

    /* Under clairvoyant, each use finds its memory registered, and does not wait */
    predreg_account_use(&bound->account, span->site, 1, 0, 0);
}

/* Add to the account that the present segment is registered from begin to end, for a
 * cause and the use of a visit. The time after the end of the program is cut off, as
 * under all policies. */
static void bound_add(bound_t *bound, const visit_t *visit, int64_t begin,
                      int64_t end, predreg_cause_t cause)
{
    predreg_account_add(&bound->account, bound->spans[visit->use].site, begin,
                        ucs_min(end, (int64_t)bound->timeline->duration),
                        bound->bytes, cause);
}

/* Add the registrations of the segment in the gap between two visits */
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

/* Set the fields start of visits. No registration begins before the mapping of its
 * memory. */
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

/* Add visits of the same memory, sorted by their begins */
static void bound_add_mapping(bound_t *bound, visit_t *visits,
                              size_t num_visits, int64_t mapped)
{
    const visit_t *first = visits; /* The first visit since the last gap */
    const visit_t *last  = visits; /* The visit with the latest end so far */
    int64_t stop         = INT64_MIN;
    const visit_t *visit;
    const span_t *span;

    bound_set_starts(bound, visits, num_visits, mapped);
    bound_add(bound, visits, visits->start, bound->spans[visits->use].begin,
              PREDREG_CAUSE_REG);
    predreg_for_each(visit, visits, num_visits) {
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

/* Add a segment. An unmap divides the uses: later uses see other memory. */
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

/* @return whether the schedule takes at most as many steps as allowed. If not, the reason
 *         has been logged. */
static int bound_is_feasible(const bound_t *bound,
                             const predreg_replay_params_t *params)
{
    uint64_t steps = predreg_segments_steps(&bound->segments);

    if (steps <= params->max_steps) {
        return 1;
    }

    ucs_warn("clairvoyant is left out: so many ranges overlap that it takes "
             "%lu steps, %lu s or more, and %lu are allowed", steps,
             steps / (1000000000 / STEP_TIME), params->max_steps);
    return 0;
}

/* Count the registrations of the schedule, and their time. Two uses of the same memory
 * share a registration if the registration for the second use would begin before the
 * deregistration after the first use ends. */
static void bound_count_regs(const bound_t *bound,
                             predreg_replay_result_t *result)
{
    const predreg_pages_t *range, *last = NULL;
    int64_t stop = 0;
    const span_t *span;

    predreg_for_each(range, bound->segments.uses, bound->timeline->num_uses) {
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
    bound_t bound       = { .timeline = timeline };
    ucs_status_t status = UCS_ERR_UNSUPPORTED;
    size_t i;

    predreg_account_init(&bound.account, result);
    bound_init(&bound);
    if (bound_is_feasible(&bound, params)) {
        for (i = 0; i < timeline->num_uses; ++i) {
            bound_add_use(&bound, i, params);
        }

        predreg_segments_visit(&bound.segments, bound_add_segment, &bound);
        predreg_account_result(&bound.account, timeline->duration);
        bound_count_regs(&bound, result);
        status = UCS_OK;
    }

    bound_cleanup(&bound);
    predreg_account_cleanup(&bound.account);
    return status;
}
