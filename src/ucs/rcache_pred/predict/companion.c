/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "companion.h"

#include <ucs/sys/math.h>

#include <stdlib.h>

/* A companion is followed after so many distances */
#define ENOUGH 5

/* What the spread of distances may be, as a part of the spread of the region's own
 * intervals: 7/10, and the less the fewer distances there are, by (1 + FEW / count). Of two
 * spreads of the same random numbers, over so many of them, one is seldom that much
 * smaller than the other. */
#define BETTER 0.7
#define FEW    4

/* A companion that has not come once between two uses is not followed for the next MISS
 * uses; if that happens too often, MISS_MAX, another one takes its place */
#define MISS     4
#define MISS_MAX (2 * MISS)

/* While no use of its companion comes, a region that follows is registered after its
 * typical interval and so many times the spread of its intervals: the companion should
 * have come by then */
#define PATIENCE 3

/* How much later than expected the helper may hear of a use, ns, since it looks at the DQ
 * at intervals, see helper/pace.c */
#define LOOK 200000

/* A region whose intervals vary by less than this, ns, has no companions: they would save
 * little, and their distances would be about as long as the helper takes */
#define WORTH 500000

/* How many regions follow a site at most: with each use of the site, the helper moves the
 * deadlines of all of them */
#define FOLLOWERS_MAX 8

/* The delay of hearing of a site's uses falls by this part, 1/8, with each use that is
 * heard of sooner */
#define LATE_FADE 8

/* The shortest of the last BLOCK to 2 * BLOCK - 1 distances is remembered. However distances
 * are distributed, the next one is shorter than the shortest of n once in n + 1 times. So a
 * region is ready earlier by EARLIER / n of their spread: one and a half times as much as the
 * shortest of n is on average above the shortest possible one, where all distances in a range
 * are as likely. */
#define BLOCK   12
#define EARLIER 6

/* While a region follows a companion, the helper looks at the others at each so many'th
 * use, to take less time */
#define OTHERS 8

/* Of the sites that may be companions, the latest TURNS are tried in turns */
#define TURNS 4

typedef ucs_rcache_pred_companion_t companion_t;


/* @return by how much the intervals of a history vary; 0: not at all lately */
static ucs_rcache_pred_time_t variation(const ucs_rcache_pred_history_t *history)
{
    return ucs_min(history->spread,
                   history->longest - history->shortest.interval);
}

/* @return the site of a companion; NULL if there is no companion, or the table has
 * replaced the site */
static ucs_rcache_pred_site_t *companion_site(const companion_t *companion)
{
    return ((companion->signature != 0) &&
            (companion->site->signature == companion->signature)) ?
           companion->site : NULL;
}

/* @return the time that the helper needs from the end of a use at a site to the registration
 * of a region, if so many other uses come in between, each of which makes work */
static ucs_rcache_pred_time_t
least_distance(const ucs_rcache_pred_site_t *site, uint64_t between,
               const ucs_rcache_pred_times_t *times)
{
    return site->late + LOOK + times->reg + times->wakeup +
           (between * ucs_rcache_pred_spacing(times));
}

/* The region is used again: remember how long after the end of the companion's last use */
static void add_distance(companion_t *companion, ucs_rcache_pred_time_t begin,
                         unsigned depth)
{
    ucs_rcache_pred_time_t distance = begin - companion->site->ended;
    ucs_rcache_pred_time_t *lowest  = companion->lowest;

    if (companion->count == 3 * BLOCK) {
        /* A byte that wrapped around would let margin() divide by 0 */
        companion->count = 2 * BLOCK;
    }
    if (companion->count % BLOCK == 0) {
        lowest[1] = (companion->count > 0) ? lowest[0] : distance;
        lowest[0] = distance;
    }
    lowest[0] = ucs_min(lowest[0], distance);
    ++companion->count;

    companion->distances.last = companion->site->ended;
    ucs_rcache_pred_history_close(&companion->distances, begin, depth);
}

/* @return how long before its predicted use the region has to be registered, ns. The use is
 * predicted one period of the distances after the end of the companion's use. */
static ucs_rcache_pred_time_t margin(const companion_t *companion)
{
    const ucs_rcache_pred_history_t *distances = &companion->distances;
    ucs_rcache_pred_time_t period              = distances->period;
    ucs_rcache_pred_time_t shortest;

    if (distances->by_trend) {
        return ucs_rcache_pred_history_margin(distances);
    }

    shortest = ucs_min(companion->lowest[0], companion->lowest[1]);
    return ucs_max(period - ucs_min(shortest, period) +
                   (EARLIER * distances->spread /
                    ucs_min(companion->count, 2 * BLOCK)),
                   distances->shortest.undershoot);
}

/* @return the site of a region's last use; NULL if the table has replaced it */
static ucs_rcache_pred_site_t *
last_site(ucs_rcache_pred_predictor_t *predictor,
          const ucs_rcache_pred_forecast_t *forecast)
{
    return ucs_rcache_pred_site_find(&predictor->sites, forecast->last_site);
}

/* The region was used again: has the companion come once since its last use? */
static void hear(ucs_rcache_pred_predictor_t *predictor, companion_t *companion,
                 ucs_rcache_pred_time_t begin,
                 const ucs_rcache_pred_times_t *times)
{
    ucs_rcache_pred_site_t *site = companion_site(companion);

    if ((site == NULL) || (companion->missed > MISS_MAX)) {
        companion->signature = 0;
        return;
    }

    if ((site->uses - companion->uses != 1) || (site->ended >= begin)) {
        companion->missed += MISS;
        return;
    }

    companion->missed -= ucs_min(companion->missed, 1);
    companion->between = predictor->num_heard - site->number;
    add_distance(companion, begin, predictor->depth);
    if ((companion->distances.count >= ENOUGH) &&
        (companion->distances.period <
         least_distance(site, companion->between, times))) {
        companion->signature = 0;
    }
}

static int is_tried(const ucs_rcache_pred_companions_t *companions,
                    uint64_t signature)
{
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_COMPANIONS; ++i) {
        if (companions->tried[i].signature == signature) {
            return 1;
        }
    }
    return 0;
}

/* Try one of the sites that were used since the last use of a region and long enough
 * before this one */
static void try_one(const ucs_rcache_pred_predictor_t *predictor,
                    ucs_rcache_pred_companions_t *companions,
                    companion_t *companion, ucs_rcache_pred_time_t last,
                    ucs_rcache_pred_time_t begin,
                    const ucs_rcache_pred_times_t *times)
{
    unsigned left = companions->tries++ % TURNS;
    ucs_rcache_pred_site_t *site;
    unsigned back;

    for (back = 1; back <= UCS_RCACHE_PRED_HEARD; ++back) {
        site = predictor->heard[(predictor->num_heard - back) %
                                UCS_RCACHE_PRED_HEARD];
        if ((site == NULL) || (site->history.last <= last)) {
            return;
        }
        if ((site->signature == 0) || (site->uses == 0) ||
            (site->ended + least_distance(site, back, times) > begin) ||
            is_tried(companions, site->signature)) {
            continue;
        }
        *companion = (companion_t){.site = site, .signature = site->signature};
        if (left-- == 0) {
            return;
        }
    }
}

/* @return the companions of a site; NULL if there are none, since the time from uses at that
 * site to the region's next use varies by so little that they would save nothing, or since
 * as many sites as may have some, or for lack of memory. */
static ucs_rcache_pred_companions_t *
get_companions(ucs_rcache_pred_site_table_t *table, ucs_rcache_pred_site_t *site)
{
    if ((site->next.count >= ENOUGH) && (variation(&site->next) <= WORTH)) {
        ucs_rcache_pred_site_free_companions(table, site);
    } else if ((site->companions == NULL) &&
               (table->num_companions < UCS_RCACHE_PRED_COMPANIONS_MAX)) {
        site->companions       = calloc(1, sizeof(*site->companions));
        table->num_companions += (site->companions != NULL);
    }
    return site->companions;
}

void ucs_rcache_pred_companion_learn(ucs_rcache_pred_predictor_t *predictor,
                                     const ucs_rcache_pred_forecast_t *forecast,
                                     ucs_rcache_pred_time_t begin,
                                     const ucs_rcache_pred_times_t *times)
{
    ucs_rcache_pred_site_t *site = last_site(predictor, forecast);
    int follows                  = (forecast->followers.next != NULL);
    ucs_rcache_pred_companions_t *companions;
    unsigned i;

    companions = ((site != NULL) && (begin > forecast->history.last)) ?
                 get_companions(&predictor->sites, site) : NULL;
    for (i = 0; (companions != NULL) && (i < UCS_RCACHE_PRED_COMPANIONS); ++i) {
        if (follows && (i != forecast->companion) &&
            (predictor->num_heard % OTHERS != 0)) {
            continue;
        }
        if (companions->tried[i].signature != 0) {
            hear(predictor, &companions->tried[i], begin, times);
        } else {
            try_one(predictor, companions, &companions->tried[i],
                    forecast->history.last, begin, times);
        }
    }
}

ucs_rcache_pred_site_t *
ucs_rcache_pred_companion_heard(ucs_rcache_pred_predictor_t *predictor,
                                ucs_rcache_pred_forecast_t *forecast,
                                ucs_rcache_pred_time_t begin,
                                ucs_rcache_pred_time_t ended,
                                ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_site_t *site = last_site(predictor, forecast);
    ucs_rcache_pred_site_t *other;
    unsigned i;

    if ((site == NULL) || (begin < forecast->history.last) || (now < ended)) {
        return NULL;
    }

    site->late   = ucs_max(now - ended, site->late - (site->late / LATE_FADE));
    site->ended  = ended;
    site->number = predictor->num_heard;
    ++site->uses;
    predictor->heard[predictor->num_heard++ % UCS_RCACHE_PRED_HEARD] = site;

    for (i = 0; (site->companions != NULL) && (i < UCS_RCACHE_PRED_COMPANIONS); ++i) {
        other = companion_site(&site->companions->tried[i]);
        if (other != NULL) {
            site->companions->tried[i].uses = other->uses;
        }
    }
    return site;
}

/* Whether to follow a companion, of this site: a registration can be made ahead by its
 * distances */
static int is_good(const companion_t *companion,
                   ucs_rcache_pred_site_t *site,
                   const ucs_rcache_pred_times_t *times)
{
    const ucs_rcache_pred_history_t *distances = &companion->distances;

    return (companion->missed == 0) && (distances->count >= ENOUGH) &&
           (ucs_list_length(&site->followers) < FOLLOWERS_MAX) &&
           (distances->period >=
            margin(companion) + least_distance(site, companion->between, times));
}

ucs_rcache_pred_time_t
ucs_rcache_pred_companion_follow(ucs_rcache_pred_predictor_t *predictor,
                                 ucs_rcache_pred_forecast_t *forecast,
                                 const ucs_rcache_pred_history_t *own,
                                 const ucs_rcache_pred_times_t *times,
                                 ucs_rcache_pred_time_t deadline)
{
    double best                  = BETTER * variation(own);
    ucs_rcache_pred_site_t *from = last_site(predictor, forecast);
    ucs_rcache_pred_site_t *site, *found = NULL;
    ucs_rcache_pred_time_t late;
    companion_t *companion;
    double spread;
    unsigned i;

    ucs_rcache_pred_link_leave(&forecast->followers);
    if ((from == NULL) || (from->companions == NULL)) {
        return deadline;
    }

    for (i = 0; i < UCS_RCACHE_PRED_COMPANIONS; ++i) {
        companion = &from->companions->tried[i];
        site      = companion_site(companion);
        if ((site == NULL) || !is_good(companion, site, times)) {
            continue;
        }

        spread = companion->distances.spread *
                 (1 + (double)FEW / companion->distances.count);
        if (spread < best) {
            best                = spread;
            found               = site;
            forecast->companion = i;
        }
    }

    if (found == NULL) {
        return deadline;
    }

    ucs_list_add_tail(&found->followers, &forecast->followers);
    late             = ucs_min(PATIENCE * variation(own),
                               ucs_rcache_pred_history_narrow_grace(own));
    deadline         = ucs_max(deadline, own->last + own->typical + late);
    forecast->expiry = ucs_max(forecast->expiry, deadline + (late / PATIENCE));
    return deadline;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_companion_move(ucs_rcache_pred_predictor_t *predictor,
                               ucs_rcache_pred_forecast_t *forecast,
                               ucs_rcache_pred_time_t ended)
{
    ucs_rcache_pred_site_t *from = last_site(predictor, forecast);
    const companion_t *companion;
    ucs_rcache_pred_time_t due;

    if ((from == NULL) || (from->companions == NULL) ||
        (ended <= forecast->history.last)) {
        return UCS_RCACHE_PRED_TIME_INF;
    }

    companion        = &from->companions->tried[forecast->companion];
    due              = ended + companion->distances.period;
    forecast->expiry = ucs_max(forecast->expiry,
                               due + ucs_rcache_pred_history_grace(
                                             &companion->distances));
    return due - ucs_min(margin(companion), due);
}
