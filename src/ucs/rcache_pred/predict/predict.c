/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predict.h"

#include <ucs/sys/math.h>

#include <string.h>

/*
 * Which of a region's histories says when the region is needed next. The
 * histories themselves are in history.c.
 *
 * Consider a loop inside another loop. The use after the last iteration of the
 * inner loop comes later than the uses after its other iterations, although all
 * of them have the same call site and the same context. Hence uses are also
 * told apart by their phase, in the way in which a processor predicts the
 * branch at the end of a loop. The phase says how many intervals in a row have
 * been alike, and whether the last one was a long one. Each phase in which a
 * context occurs has a site of its own, which predicts only the region's next
 * use. The paper has no phases.
 */

/* The longest run of intervals of about the same length that is a phase of its own; all
 * longer runs count as one phase. So the end of an inner loop is found if the loop has up
 * to one iteration more than this. Each phase takes a site for each context of the
 * region. */
#define PHASE_MAX_RUN 7

/* Two histories predict different things if their periods differ by more than
 * this part of the period, 1/8 */
#define PHASE_DIFFERS 8

/* How many contexts and phases of a region are searched for one that recurs: those that were
 * used last. We know no loop that uses one buffer in more. */
#define MAX_RECURRENCES 128

/*
 * If uses come at random, the trust in histories does not help: each context predicts
 * wrongly once or twice before its history is doubted, an accidental match restores the
 * trust, and there are always new contexts. Hence each region has a score (trust.h). If many
 * regions are used at random, each of them would still be registered for nothing several
 * times: hence places of the program have a score, too (precedent.c).
 *
 * Each prediction for a region is compared with the next use, even if nobody has acted on
 * it: this costs nothing, and so a doubted region or place can be believed again. A use that
 * is early by no more than the narrow grace has met its deadline, though it may have been a
 * miss: if the program has once waited for the helper, the measured interval was too long,
 * and later uses come early. The helper looks at the scores again when a registration is
 * due, and not only when it decides on the registration: of many regions that wait for their
 * second use at the beginning of the program, the first few tell about all others.
 *
 * A region that is trusted itself is believed even if its place is doubted. The paper has no
 * trust.
 */


ucs_status_t
ucs_rcache_pred_predictor_init(ucs_rcache_pred_predictor_t *predictor,
                               unsigned num_sites, unsigned depth)
{
    memset(predictor, 0, sizeof(*predictor));
    predictor->depth = depth;
    return ucs_rcache_pred_site_table_init(&predictor->sites, num_sites);
}

void ucs_rcache_pred_predictor_cleanup(ucs_rcache_pred_predictor_t *predictor)
{
    ucs_rcache_pred_site_table_cleanup(&predictor->sites);
}

void ucs_rcache_pred_forecast_init(ucs_rcache_pred_forecast_t *forecast)
{
    memset(forecast, 0, sizeof(*forecast));
    ucs_list_head_init(&forecast->sites);
    ucs_rcache_pred_history_init(&forecast->history);
}

void ucs_rcache_pred_forecast_forget(ucs_rcache_pred_predictor_t *predictor,
                                     ucs_rcache_pred_forecast_t *forecast)
{
    ucs_rcache_pred_site_t *site, *tmp;

    ucs_rcache_pred_link_leave(&forecast->waits);
    ucs_rcache_pred_link_leave(&forecast->followers);
    forecast->way = 0;
    ucs_list_for_each_safe(site, tmp, &forecast->sites, region_link) {
        ucs_rcache_pred_site_remove(&predictor->sites, site);
    }
}

void ucs_rcache_pred_forecast_inherit(ucs_rcache_pred_forecast_t *forecast,
                                      const ucs_rcache_pred_forecast_t *former)
{
    *forecast             = *former;
    forecast->last_site   = 0;
    forecast->last_phase  = 0;
    forecast->source      = 0;
    forecast->source_next = 0;
    forecast->way         = 0;
    forecast->waits.next  = NULL;
    forecast->followers   = (ucs_list_link_t){NULL, NULL};
    ucs_list_head_init(&forecast->sites);
}

/* Find the history of the call site that, by its own recurrence, predicts the earliest
 * next use of the region; or that of all uses, if no context was seen twice. @return NULL
 * if there is none. */
static ucs_rcache_pred_history_t *
find_recurrence(ucs_rcache_pred_forecast_t *forecast, ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t earliest    = UCS_RCACHE_PRED_TIME_INF;
    ucs_rcache_pred_history_t *history = &forecast->history;
    unsigned left                      = MAX_RECURRENCES;
    ucs_rcache_pred_site_t *site;
    ucs_rcache_pred_time_t deadline;

    forecast->source      = 0;
    forecast->source_next = 0;
    ucs_list_for_each(site, &forecast->sites, region_link) {
        if (left-- == 0) {
            break;
        }

        if (site->history.period == 0) {
            continue;
        }

        deadline = ucs_rcache_pred_history_deadline(&site->history, now);
        if (deadline < earliest) {
            earliest         = deadline;
            history          = &site->history;
            forecast->source = site->signature;
        } else if (forecast->source == 0) {
            history = NULL;
        }
    }

    return history;
}

/* @return the history of the times from uses at a site to the region's next
 * use; NULL if no such next use has come yet. */
static ucs_rcache_pred_history_t *
site_next(ucs_rcache_pred_predictor_t *predictor, uint64_t signature)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_find(&predictor->sites, signature);
    return ((site == NULL) || (site->next.period == 0)) ? NULL : &site->next;
}

/* Whether to believe the history of a phase rather than the history of the context in all
 * its phases: the former must have predicted the last interval right, and must predict
 * another time than the latter, or the same time more exactly. */
static int phase_is_better(const ucs_rcache_pred_history_t *phase,
                           const ucs_rcache_pred_history_t *all)
{
    ucs_rcache_pred_time_t distance;

    if ((phase == NULL) || !phase->punctual) {
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

/* Find the history that predicts the next use by the context of the last use.
 *
 * @return NULL if there is none. */
static ucs_rcache_pred_history_t *
find_succession(ucs_rcache_pred_predictor_t *predictor,
                ucs_rcache_pred_forecast_t *forecast,
                ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_history_t *all, *phase;

    all                   = site_next(predictor, forecast->last_site);
    phase                 = site_next(predictor, forecast->last_phase);
    forecast->source_next = 1;
    forecast->source      = forecast->last_phase;
    if (phase_is_better(phase, all) &&
        (ucs_rcache_pred_history_deadline(phase, now) != UCS_RCACHE_PRED_TIME_INF)) {
        return phase;
    }

    forecast->source = forecast->last_site;
    if ((all != NULL) &&
        (ucs_rcache_pred_history_deadline(all, now) != UCS_RCACHE_PRED_TIME_INF)) {
        return all;
    }

    return NULL;
}

int ucs_rcache_pred_forecast_is_trusted(
        const ucs_rcache_pred_predictor_t *predictor,
        const ucs_rcache_pred_forecast_t *forecast)
{
    return !ucs_rcache_pred_trust_is_doubted(forecast->trust,
                                             UCS_RCACHE_PRED_TRUST_REGION) &&
           ((forecast->trust >= UCS_RCACHE_PRED_TRUST_TRUSTED) ||
            !ucs_rcache_pred_place_is_doubted(&predictor->places,
                                              forecast->place));
}

/* Judge the last prediction: the expected use has come in time (met), or has not. If the
 * prediction came from a precedent, it says nothing about this region or its place. Has
 * to be called before the region's next use is added, since the verdict is about the
 * place of the last use. */
static void forecast_judge(ucs_rcache_pred_predictor_t *predictor,
                           ucs_rcache_pred_forecast_t *forecast, int met)
{
    if (!forecast->in_trial) {
        return;
    }

    forecast->in_trial = 0;
    if (forecast->follows) {
        return;
    }

    ucs_rcache_pred_trust_tell(&forecast->trust, UCS_RCACHE_PRED_TRUST_REGION,
                               met);
    ucs_rcache_pred_place_judge(&predictor->places, forecast->place,
                                (uintptr_t)forecast, met);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_forecast_deadline(ucs_rcache_pred_predictor_t *predictor,
                                  ucs_rcache_pred_forecast_t *forecast,
                                  ucs_rcache_pred_time_t now,
                                  ucs_rcache_pred_history_t **history_p)
{
    ucs_rcache_pred_time_t deadline = UCS_RCACHE_PRED_TIME_INF;
    ucs_rcache_pred_history_t *history;

    history = find_succession(predictor, forecast, now);
    if (history == NULL) {
        history = find_recurrence(forecast, now);
    }

    if (history != NULL) {
        deadline = ucs_rcache_pred_history_deadline(history, now);
    }

    forecast->in_trial = (deadline != UCS_RCACHE_PRED_TIME_INF);
    if (forecast->in_trial) {
        forecast->earliest = history->last + history->period -
                             ucs_rcache_pred_history_narrow_grace(history);
        forecast->expiry   = ucs_rcache_pred_history_expiry(history);
        forecast->period   = history->period;
    }

    forecast->predicted = forecast->in_trial &&
                          ucs_rcache_pred_forecast_is_trusted(predictor,
                                                              forecast);
    *history_p          = forecast->predicted ? history : NULL;
    return forecast->predicted ? deadline : UCS_RCACHE_PRED_TIME_INF;
}

/* @return the history from which the present deadline came; NULL if its site
 * was removed */
static ucs_rcache_pred_history_t *
forecast_source(ucs_rcache_pred_predictor_t *predictor,
                ucs_rcache_pred_forecast_t *forecast)
{
    ucs_rcache_pred_site_t *site;

    if (forecast->source == 0) {
        return &forecast->history;
    }

    site = ucs_rcache_pred_site_find(&predictor->sites, forecast->source);
    if (site == NULL) {
        return NULL;
    }

    return forecast->source_next ? &site->next : &site->history;
}

void ucs_rcache_pred_forecast_unmet(ucs_rcache_pred_predictor_t *predictor,
                                    ucs_rcache_pred_forecast_t *forecast)
{
    ucs_rcache_pred_history_t *history;

    forecast_judge(predictor, forecast, 0);
    history = forecast_source(predictor, forecast);
    if (history != NULL) {
        ucs_rcache_pred_trust_tell(&history->trust, UCS_RCACHE_PRED_TRUST_HISTORY, 0);
    }
}

/* @return the class of the error of the prediction for a use that has come, or
 * UCS_RCACHE_PRED_ERROR_CLASSES if there was no prediction. Has to be called
 * before the use is added to the histories. */
static unsigned error_class(ucs_rcache_pred_predictor_t *predictor,
                            ucs_rcache_pred_forecast_t *forecast,
                            ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_history_t *history;

    history = forecast_source(predictor, forecast);
    return ((history == NULL) || !forecast->predicted || (history->period == 0) ||
            ucs_rcache_pred_trust_is_doubted(history->trust,
                                             UCS_RCACHE_PRED_TRUST_HISTORY) ||
            (history->last == 0) || (begin <= history->last)) ?
           UCS_RCACHE_PRED_ERROR_CLASSES :
           ucs_rcache_pred_error_class(history->period, begin - history->last);
}

static int is_alike(ucs_rcache_pred_time_t interval,
                    ucs_rcache_pred_time_t before)
{
    return (interval >= before - (before / 4)) &&
           (interval <= before + (before / 4));
}

/* Find the phase in which a use has come. Has to be called before the use is
 * added to the region's history.
 *
 * @return -1 if the use is in no phase, since there is no interval before
 *         it. */
static int find_phase(ucs_rcache_pred_forecast_t *forecast,
                      ucs_rcache_pred_time_t begin, unsigned depth)
{
    const ucs_rcache_pred_history_t *history = &forecast->history;
    ucs_rcache_pred_time_t interval;

    if ((history->last == 0) || (begin <= history->last)) {
        return -1;
    }

    interval = begin - history->last;
    if (!is_alike(interval, ucs_rcache_pred_history_interval(history, 0, depth))) {
        forecast->run = 0;
    } else if (forecast->run < PHASE_MAX_RUN) {
        ++forecast->run;
    }

    return (interval > history->period + (history->period / 2)) ?
           (forecast->run + PHASE_MAX_RUN + 1) : forecast->run;
}

/* The region has been used again after its use at this site: add the interval
 * in between to the site's history of next uses. */
static void close_site(ucs_rcache_pred_predictor_t *predictor,
                       uint64_t signature, ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_find(&predictor->sites, signature);
    if (site != NULL) {
        ucs_rcache_pred_history_close(&site->next, begin, predictor->depth);
    }
}

/* The region was used at this site: from now on the site awaits the region's next use. */
static ucs_rcache_pred_site_t *
open_site(ucs_rcache_pred_predictor_t *predictor,
          ucs_rcache_pred_forecast_t *forecast, uint64_t signature,
          ucs_rcache_pred_time_t begin)
{
    ucs_rcache_pred_site_t *site;

    site = ucs_rcache_pred_site_get(&predictor->sites, signature,
                                    &forecast->sites);
    site->next.last = begin;
    return site;
}

unsigned ucs_rcache_pred_forecast_learn(ucs_rcache_pred_predictor_t *predictor,
                                        ucs_rcache_pred_forecast_t *forecast,
                                        ucs_rcache_pred_time_t begin,
                                        uint64_t signature, uint64_t place)
{
    unsigned depth = predictor->depth;
    unsigned error = error_class(predictor, forecast, begin);
    ucs_rcache_pred_site_t *site;
    int phase;

    forecast_judge(predictor, forecast, ucs_rcache_pred_forecast_is_met(forecast, begin));
    forecast->follows = 0;
    forecast->place   = place;

    close_site(predictor, forecast->last_site, begin);
    close_site(predictor, forecast->last_phase, begin);

    phase = find_phase(forecast, begin, depth);
    if (phase >= 0) {
        forecast->last_phase = ucs_rcache_pred_signature_with(signature,
                                                              phase + 1);
        open_site(predictor, forecast, forecast->last_phase, begin);
    }

    site                = open_site(predictor, forecast, signature, begin);
    forecast->last_site = signature;
    ucs_rcache_pred_history_add(&site->history, begin, depth);
    ucs_rcache_pred_history_add(&forecast->history, begin, depth);
    return error;
}
