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
 */

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

ucs_rcache_pred_time_t
pred_region_deadline(ucs_rcache_pred_t *pred, ucs_rcache_pred_region_t *region,
                     ucs_rcache_pred_time_t now,
                     ucs_rcache_pred_history_t **history_p)
{
    ucs_rcache_pred_time_t deadline;
    ucs_rcache_pred_site_t *site;
    int known;

    site = ucs_rcache_pred_site_find(&pred->sites, region->last_site);
    if (site != NULL) {
        deadline = believed_deadline(region, &site->next, now);
        if (deadline != UCS_RCACHE_PRED_TIME_INF) {
            *history_p          = &site->next;
            region->source      = site->signature;
            region->source_next = 1;
            return deadline;
        }
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

void pred_region_learn(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_dq_entry_t *entry)
{
    unsigned depth = pred->params.history;
    ucs_rcache_pred_site_t *site, *last;
    uint64_t signature;

    count_error(pred, region, entry->begin);

    if ((region->doubt > 0) && region->queued && !region->scheduled) {
        --region->doubt; /* It was awaited, and came */
    }

    region->lengths[region->num_lengths++ % UCS_RCACHE_PRED_RECENT_LENGTHS] =
            entry->length;

    last = ucs_rcache_pred_site_find(&pred->sites, region->last_site);
    if (last != NULL) {
        ucs_rcache_pred_history_close(&last->next, entry->begin, depth);
    }

    signature = ucs_rcache_pred_signature(&entry->context, entry->generation,
                                          region->start, entry->length);
    site      = ucs_rcache_pred_site_get(&pred->sites, signature,
                                         &region->sites);
    site->next.last   = entry->begin;
    region->last_site = signature;
    ucs_rcache_pred_history_record(&site->history, entry->begin, depth);
    ucs_rcache_pred_history_record(&region->history, entry->begin, depth);
}
