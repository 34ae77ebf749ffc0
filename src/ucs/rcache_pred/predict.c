/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

/*
 * When a region is needed next: which of its histories speaks. The histories
 * themselves are in history.c. Under helper_mutex.
 */


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
        deadline  = ucs_rcache_pred_history_deadline(&site->history, now);
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
        deadline = ucs_rcache_pred_history_deadline(&site->next, now);
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
               ucs_rcache_pred_history_deadline(*history_p, now);
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

void pred_region_learn(ucs_rcache_pred_t *pred,
                       ucs_rcache_pred_region_t *region,
                       const ucs_rcache_pred_dq_entry_t *entry)
{
    unsigned depth = pred->params.history;
    ucs_rcache_pred_site_t *site, *last;
    uint64_t signature;

    region->lengths[region->num_lengths++ % UCS_RCACHE_PRED_RECENT_LENGTHS] =
            entry->length;

    last = ucs_rcache_pred_site_find(&pred->sites, region->last_site);
    if (last != NULL) {
        ucs_rcache_pred_history_close(&last->next, entry->begin, depth);
    }

    signature = ucs_rcache_pred_signature(&entry->context, region,
                                          region->start, entry->length);
    site      = ucs_rcache_pred_site_get(&pred->sites, signature,
                                         &region->sites);
    site->next.last   = entry->begin;
    region->last_site = signature;
    ucs_rcache_pred_history_record(&site->history, entry->begin, depth);
    ucs_rcache_pred_history_record(&region->history, entry->begin, depth);
}
