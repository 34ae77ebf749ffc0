/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

#include <ucs/sys/math.h>

/*
 * When a region is needed next: which of its histories speaks. The histories
 * themselves are in history.c. Under helper_mutex.
 *
 * Where a loop is inside another one, what comes after its last iteration comes
 * later than what follows the others, from the same call site and in the same
 * context. Hence uses are told apart by phase as well, as a processor's
 * predictor does with the branch at the end of a loop: how many intervals in a
 * row have been alike, and whether the last one was a long one. Each phase that
 * a context is met in is a site of its own, for its next use only. Ours, not the
 * paper's.
 */

/* Longer runs of alike intervals are not told apart: inner loops with so many
 * iterations and one. Each costs a site for each context of the region. */
#define PHASE_MAX_RUN 7

/* Histories whose periods differ by more than this part do not say the same */
#define PHASE_DIFFERS 8

/*
 * Where uses come at random, every context disappoints once or twice before it
 * loses its confidence, an accidental match restores it, and there are always
 * new contexts. Hence the region keeps a record of its own: a met deadline
 * lowers its doubt by one, an unmet one doubles it, and for every DOUBT_STEP of
 * it a history must have been right in retrospect once more in a row to be
 * believed. Ours, not the paper's. Two unmet deadlines in a row change nothing
 * yet, since loops end; six lead to the maximum.
 */
#define DOUBT_UNMET 3                /* Added by an unmet deadline, at least */
#define DOUBT_STEP  8
#define DOUBT_MAX   (8 * DOUBT_STEP) /* Eight intervals: a history's depth */


ucs_rcache_pred_time_t
pred_region_expiry(const ucs_rcache_pred_region_t *region,
                   const ucs_rcache_pred_history_t *history)
{
    /* The intervals that were asked for came within the narrow grace, too */
    return (region->doubt < DOUBT_STEP) ?
           ucs_rcache_pred_history_expiry(history) :
           (history->last + history->period +
            ucs_rcache_pred_history_narrow_grace(history));
}

/* As the history says, if the region believes it */
static ucs_rcache_pred_time_t
believed_deadline(const ucs_rcache_pred_region_t *region,
                  const ucs_rcache_pred_history_t *history,
                  ucs_rcache_pred_time_t now)
{
    return ((history->streak < region->doubt / DOUBT_STEP) ||
            (pred_region_expiry(region, history) <= now)) ?
           UCS_RCACHE_PRED_TIME_INF :
           ucs_rcache_pred_history_deadline(history, now);
}

/* The earliest next begin over all call sites of the region, as each recurs.
 * @param [out] known_p  Whether any of them has been seen twice. */
static ucs_rcache_pred_history_t *
region_recurrence(ucs_rcache_pred_region_t *region, ucs_rcache_pred_time_t now,
                  int *known_p)
{
    ucs_rcache_pred_time_t earliest    = UCS_RCACHE_PRED_TIME_INF;
    ucs_rcache_pred_history_t *history = NULL;
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_site_t *site;

    *known_p = 0;
    ucs_list_for_each(site, &region->sites, region_link) {
        *known_p |= (site->history.period != 0);
        deadline  = believed_deadline(region, &site->history, now);
        if (deadline < earliest) {
            earliest            = deadline;
            history             = &site->history;
            region->source      = site->signature;
            region->source_next = 0;
        }
    }

    return history;
}

/* How long after the last use of a site the region's next one comes, or NULL */
static ucs_rcache_pred_history_t *
site_next(ucs_rcache_pred_t *pred, uint64_t signature)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_find(&pred->sites, signature);
    return ((site == NULL) || (site->next.period == 0)) ? NULL : &site->next;
}

/* Whether to listen to the history of a phase rather than to that of the
 * context in all its phases: if it was right before, and knows better */
static int phase_is_better(const ucs_rcache_pred_history_t *phase,
                           const ucs_rcache_pred_history_t *all)
{
    ucs_rcache_pred_time_t distance;

    if ((phase == NULL) || (phase->streak == 0)) {
        return 0;
    }

    if (all == NULL) {
        return 1;
    }

    distance = ucs_max(phase->period, all->period) -
               ucs_min(phase->period, all->period);
    return (distance > all->period / PHASE_DIFFERS) ||
           (ucs_rcache_pred_history_lead(phase) <
            ucs_rcache_pred_history_lead(all));
}

/* What the last use's context says of the next use.
 * @return NULL: nothing, or nothing that the region believes. */
static ucs_rcache_pred_history_t *
region_succession(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                  ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_history_t *all   = site_next(pred, region->last_site);
    ucs_rcache_pred_history_t *phase = site_next(pred, region->last_phase);

    region->source_next = 1;
    region->source      = region->last_phase;
    if (phase_is_better(phase, all) &&
        (believed_deadline(region, phase, now) != UCS_RCACHE_PRED_TIME_INF)) {
        return phase;
    }

    region->source = region->last_site;
    if ((all != NULL) &&
        (believed_deadline(region, all, now) != UCS_RCACHE_PRED_TIME_INF)) {
        return all;
    }

    return NULL;
}

ucs_rcache_pred_time_t
pred_region_deadline(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now,
                     ucs_rcache_pred_history_t **history_p)
{
    ucs_rcache_pred_time_t deadline;
    int known;

    *history_p = region_succession(pred, region, now);
    if (*history_p != NULL) {
        return believed_deadline(region, *history_p, now);
    }

    *history_p = region_recurrence(region, now, &known);
    if ((*history_p == NULL) && !known) {
        *history_p     = &region->history;
        region->source = 0;
    }

    deadline = (*history_p == NULL) ?
               UCS_RCACHE_PRED_TIME_INF :
               believed_deadline(region, *history_p, now);
    if (deadline == UCS_RCACHE_PRED_TIME_INF) {
        *history_p = NULL;
    }
    return deadline;
}

ucs_rcache_pred_history_t *
pred_region_source(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_site_t *site;

    if (region->source == 0) {
        return &region->history;
    }

    site = ucs_rcache_pred_site_find(&pred->sites, region->source);
    if (site == NULL) {
        return NULL;
    }

    return region->source_next ? &site->next : &site->history;
}

void pred_region_unmet(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region)
{
    ucs_rcache_pred_history_t *history = pred_region_source(pred, region);

    region->doubt = ucs_min(region->doubt + ucs_max(region->doubt, DOUBT_UNMET),
                            DOUBT_MAX);
    if (history != NULL) {
        ucs_rcache_pred_history_unmet(history);
    }
}

/* Count how wrong the prediction was, if there was one, before the histories
 * are told of the use. */
static void count_error(ucs_rcache_pred_t *pred,
                        ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_history_t *history = pred_region_source(pred, region);
    unsigned error_class;

    if ((history == NULL) || !region->predicted) {
        return;
    }

    error_class = ucs_rcache_pred_history_error_class(history, begin);
    if (error_class == UCS_RCACHE_PRED_ERROR_CLASSES) {
        return;
    }

    ucs_spin_lock(&pred->lock);
    ++pred->stats.prediction_errors[error_class];
    ucs_spin_unlock(&pred->lock);
}

static int is_alike(ucs_rcache_pred_time_t interval,
                    ucs_rcache_pred_time_t before)
{
    return (interval >= before - (before / 4)) &&
           (interval <= before + (before / 4));
}

/* The phase of a use, before the region's history is told of it.
 * @return -1 if it is in none: there was no interval. */
static int region_phase(ucs_rcache_pred_region_t *region,
                        ucs_rcache_pred_time_t begin, unsigned depth)
{
    const ucs_rcache_pred_history_t *history = &region->history;
    ucs_rcache_pred_time_t interval;

    if ((history->last == 0) || (begin <= history->last)) {
        return -1;
    }

    interval = begin - history->last;
    if (!is_alike(interval, ucs_rcache_pred_history_latest(history, depth))) {
        region->run = 0;
    } else if (region->run < PHASE_MAX_RUN) {
        ++region->run;
    }

    return (interval > history->period + (history->period / 2)) ?
           (region->run + PHASE_MAX_RUN + 1) : region->run;
}

/* A use has come: it ends what was awaited after the one before */
static void region_close(ucs_rcache_pred_t *pred, uint64_t signature,
                         ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_find(&pred->sites, signature);
    if (site != NULL) {
        ucs_rcache_pred_history_close(&site->next, begin, pred->params.history);
    }
}

/* ... and begins what is awaited from now on. @return its site. */
static ucs_rcache_pred_site_t *
region_open(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
            uint64_t signature, ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_site_t *site;

    site            = ucs_rcache_pred_site_get(&pred->sites, signature,
                                               &region->sites);
    site->next.last = begin;
    return site;
}

void pred_region_learn(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_dq_entry_t *entry)
{
    unsigned depth = pred->params.history;
    ucs_rcache_pred_site_t *site;
    uint64_t signature;
    int phase;

    count_error(pred, region, entry->begin);

    if ((region->doubt > 0) && region->queued && !region->scheduled) {
        --region->doubt; /* It was awaited, and came */
    }

    region->lengths[region->num_lengths++ % UCS_RCACHE_PRED_RECENT_LENGTHS] =
            entry->length;

    region_close(pred, region->last_site, entry->begin);
    region_close(pred, region->last_phase, entry->begin);

    signature = ucs_rcache_pred_signature(&entry->context, entry->generation,
                                          region->start, entry->length);
    phase     = region_phase(region, entry->begin, depth);
    if (phase >= 0) {
        region->last_phase = ucs_rcache_pred_signature_in_phase(signature,
                                                                phase);
        region_open(pred, region, region->last_phase, entry->begin);
    }

    site              = region_open(pred, region, signature, entry->begin);
    region->last_site = signature;
    ucs_rcache_pred_history_record(&site->history, entry->begin, depth);
    ucs_rcache_pred_history_record(&region->history, entry->begin, depth);
}
