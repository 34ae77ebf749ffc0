/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_HISTORY_H_
#define UCS_RCACHE_PRED_HISTORY_H_

#include "trust.h"

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/datastruct/hlist.h>
#include <ucs/datastruct/list.h>

BEGIN_C_DECLS

/** @file history.h
 *
 * The history of a recurrence, such as the uses in one context: past begins, and the
 * next expected begin. There are two estimates of the next interval: the shortest of the
 * recent intervals, and the trend, which goes on from the last interval by the average
 * change. Where intervals vary, the shortest one is on the safe side. But where intervals
 * grow, the shortest one is too short by all the growth since, and the trend is right. A
 * history believes the trend if, going by the errors of both so far, memory would have
 * been registered for clearly less time by the trend. The functions are pure: the time is
 * an argument, and no lock is needed.
 */

/** A way to estimate the next interval, and how wrong it was recently. */
typedef struct ucs_rcache_pred_estimate {
    ucs_rcache_pred_time_t interval;   /**< The estimate; 0: nothing is known yet */
    ucs_rcache_pred_time_t undershoot; /**< By how much intervals were shorter
                                            than estimated: the worst recent
                                            case, which fades */
    ucs_rcache_pred_time_t overshoot;  /**< By how much intervals were longer
                                            than estimated: the worst recent
                                            case, which fades */
} ucs_rcache_pred_estimate_t;


/** A history. The fields that tell whether it predicts anything come first, in
 *  one cache line. */
typedef struct ucs_rcache_pred_history {
    ucs_rcache_pred_time_t last;       /**< Time of the last begin; 0: no begin
                                            is awaited */
    ucs_rcache_pred_time_t period;     /**< The believed estimate; 0: none yet */
    ucs_rcache_pred_time_t typical;    /**< Median of the recent intervals */
    ucs_rcache_pred_time_t longest;    /**< Longest of the recent intervals */
    ucs_rcache_pred_time_t spread;     /**< By how much intervals were longer or
                                            shorter than typical, or than the trend
                                            if it is believed: the average, of which
                                            newer ones have more weight */
    ucs_rcache_pred_estimate_t shortest; /**< The shortest of the recent
                                            intervals */
    uint8_t                next;       /**< Where in the ring the next interval
                                            goes, 0..depth - 1 */
    uint8_t                count;      /**< Number of intervals seen so far;
                                            stays at its maximum, which is more
                                            than the ring holds */
    uint8_t                by_trend;   /**< Not 0: the trend is believed, and not
                                            the shortest interval */
    uint8_t                longer;     /**< How many of the last intervals, in a
                                            row, were alike and much longer than
                                            the period; back to 0 once they are
                                            enough for a new period */
    uint8_t                punctual;   /**< Not 0: the last interval was as predicted: as
                                            long as the period at that time, or longer
                                            by the narrow grace at most */
    uint8_t                told;       /**< How many of the counted intervals are
                                            of other regions: told to the
                                            history, and not seen by it. They
                                            are the first ones */
    ucs_rcache_pred_trust_t trust;     /**< Rises when an interval was as the
                                            history would have predicted, even
                                            without a prediction, and falls when
                                            somebody has awaited a begin in vain.
                                            A doubted history predicts nothing */
    ucs_rcache_pred_estimate_t trend;  /**< The last interval, plus the average
                                            change from one interval to the next */
    ucs_rcache_pred_time_t intervals[UCS_RCACHE_PRED_MAX_HISTORY];
                                       /**< The recent intervals, as a ring */
    uint8_t order[UCS_RCACHE_PRED_MAX_HISTORY]; /**< The places of these in the
                                                     ring, the shortest first */
} ucs_rcache_pred_history_t;


/** Initialize a history without a begin. */
void ucs_rcache_pred_history_init(ucs_rcache_pred_history_t *history);

/**
 * Add a begin. The trust rises if the interval since the last begin is at least the
 * period, and longer by the grace at most, whether or not the begin was predicted. A
 * begin that is more than a period earlier than the last one means that the clock went
 * back; the next interval is counted from the earlier begin.
 *
 * @param [in] depth  How many recent intervals to consider, 1..MAX_HISTORY. The
 *                    paper takes the shortest interval of all (section 4.2),
 *                    but then one short burst would never be forgotten.
 */
void ucs_rcache_pred_history_add(ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t begin,
                                 unsigned depth);

/**
 * Add the interval from the last begin to @a end, as @ref
 * ucs_rcache_pred_history_add would. No begin is awaited afterwards.
 */
void ucs_rcache_pred_history_close(ucs_rcache_pred_history_t *history,
                                   ucs_rcache_pred_time_t end, unsigned depth);

/** Tell a history an interval of another region. The history takes it as an interval of
 *  its own, until the first own interval shows whether the told ones are of use. The
 *  begin from which the next interval is counted stays the same. @param [in] interval >
 *         0. */
void ucs_rcache_pred_history_tell(ucs_rcache_pred_history_t *history,
                                  ucs_rcache_pred_time_t interval,
                                  unsigned depth);

/** @return the interval that was added before the last @a back ones, less than @a depth; 0
 *          if there were not so many. */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_interval(const ucs_rcache_pred_history_t *history,
                                 unsigned back, unsigned depth);

/**
 * How much earlier than predicted a region has to be ready. It is never more
 * than a quarter of the period.
 *
 * If the shortest interval is believed, later ones may be shorter still. Then
 * the lead is the larger of two terms: 5/4 of the amount by which intervals
 * fell short of the shortest one before, and 3/4 of the distance from the
 * shortest interval to the median. If only one interval is known, the lead is
 * at least 1/32 of the period; with two or three intervals it is at least 1/64
 * of the period plus 3 times their spread, up to 1/8 of the period. If the
 * trend is believed, the lead is twice the amount by which intervals fell short
 * of the trend.
 *
 * The factors are not the paper's. If the lengths of intervals are normally
 * distributed and 8 of them are remembered, 2.9 % of begins come before the
 * deadline of the shortest, whatever the deviation. With the first term alone
 * it would be 7.3 %. If the intervals walk at random, by up to 1 to 10 % each
 * time, 3 to 4 % of begins come before the deadline of the trend.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_lead(const ucs_rcache_pred_history_t *history);

/** @return the lead that @ref ucs_rcache_pred_history_lead gives where it is not more than
 *          a quarter of the period. */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_margin(const ucs_rcache_pred_history_t *history);

/**
 * How long after the predicted begin to wait for it: 1/8 of the period plus 5/4
 * of the amount by which intervals were longer than estimated; plus the spread
 * of the recent intervals, if the spread is more and the shortest interval is
 * believed. At least a quarter of the period, or half of the period with fewer
 * than 4 seen intervals, and at most one period.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_grace(const ucs_rcache_pred_history_t *history);

/** How long after the predicted time a begin still counts as punctual. This is
 *  the least value that @ref ucs_rcache_pred_history_grace ever has. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_history_narrow_grace(const ucs_rcache_pred_history_t *history)
{
    return history->period / 4;
}

/**
 * @return when to be ready for the next begin, or UCS_RCACHE_PRED_TIME_INF if
 *         the history makes no prediction: it knows too little or is doubted,
 *         the predicted begin and its grace have passed, or the last begin is
 *         more than a period in the future, since the clock went back.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_deadline(const ucs_rcache_pred_history_t *history,
                                 ucs_rcache_pred_time_t now);

/**
 * Find the class of errors, 0..UCS_RCACHE_PRED_ERROR_CLASSES - 1, to which the
 * error |predicted - observed| / observed of a period belongs. An error that is
 * equal to the upper limit of a class belongs to that class.
 *
 * @param [in] observed  > 0.
 */
unsigned ucs_rcache_pred_error_class(ucs_rcache_pred_time_t predicted,
                                     ucs_rcache_pred_time_t observed);

/** @return when to stop waiting for the predicted begin. */
ucs_rcache_pred_time_t
ucs_rcache_pred_history_expiry(const ucs_rcache_pred_history_t *history);


/*
 * The call-site table (CF'11, section 3.2), from the signature of a communication on a
 * region to the history of its begins. Only the helper uses the table, without a lock.
 */

/** Let a forecast wait for no precedent, or follow no companion: its link leaves the list,
 *  if it is in one. A link of all zeros is in none. */
static inline void ucs_rcache_pred_link_leave(ucs_list_link_t *link)
{
    if (link->next != NULL) {
        ucs_list_del(link);
        link->next = NULL;
    }
}


/** How many companions a site has at most. */
#define UCS_RCACHE_PRED_COMPANIONS 3

/** How many sites have companions at most, which take 872 bytes each. */
#define UCS_RCACHE_PRED_COMPANIONS_MAX 8192


/** A site of another buffer from which a region's next use may be predicted, see
 *  companion.h. */
typedef struct ucs_rcache_pred_companion {
    struct ucs_rcache_pred_site *site;
    uint64_t                  signature;  /**< Of the site, which the table may have
                                               replaced since; 0: there is no
                                               companion here */
    uint32_t                  uses;       /**< How many uses the companion had when
                                               the region was used last at the site
                                               that has this companion */
    uint32_t                  between;    /**< How many uses, of any buffers, the
                                               helper has lately heard of between
                                               the companion and the region */
    uint8_t                   missed;     /**< Not 0: lately the companion was not
                                               used once between two uses */
    uint8_t                   count;      /**< How many distances there were; 3 blocks
                                               of them count as 2, see companion.c */
    ucs_rcache_pred_history_t distances;  /**< From the ends of the companion's uses to
                                               the region's next use */
    ucs_rcache_pred_time_t    lowest[2];  /**< The shortest distance in this block of
                                               distances, and in the block before, see
                                               companion.c */
} ucs_rcache_pred_companion_t;


/** The companions of one site. */
typedef struct ucs_rcache_pred_companions {
    ucs_rcache_pred_companion_t tried[UCS_RCACHE_PRED_COMPANIONS];
    unsigned                    tries;   /**< How many were tried so far */
} ucs_rcache_pred_companions_t;


/** One communication context of one region. The fields that a search of the region's sites
 *  looks at come first. */
typedef struct ucs_rcache_pred_site {
    ucs_hlist_link_t          hash_link;
    ucs_list_link_t           region_link; /**< Element of the region's list of
                                                sites */
    uint64_t                  signature;   /**< 0: the site is free */
    ucs_rcache_pred_history_t history;     /**< Intervals from each use in this
                                                context to the next use in this
                                                context */
    ucs_list_link_t           clock_link;  /**< Element of the table's list of sites */
    uint8_t                   referenced;  /**< Not 0: used since the clock's
                                                hand passed this site */
    uint32_t                  uses;        /**< How many uses in this context the
                                                helper has heard of; wraps around */
    uint32_t                  number;      /**< Number of the last of these among all
                                                uses of the cache; wraps around */
    ucs_rcache_pred_time_t    ended;       /**< When the last of these ended, as far as
                                                the helper knows */
    ucs_rcache_pred_time_t    late;        /**< How long after the end of a use the
                                                helper hears of it: the worst recent
                                                case, which fades */
    ucs_list_link_t           followers;   /**< Forecasts: their regions follow this site
                                                (companion.h) */
    ucs_rcache_pred_companions_t *companions; /**< NULL: there are none */
    ucs_rcache_pred_history_t next;        /**< Intervals from each use in this
                                                context to the region's next use
                                                in any context. Only the site of
                                                the region's last use awaits a
                                                begin here */
} ucs_rcache_pred_site_t;


typedef struct ucs_rcache_pred_site_chunk ucs_rcache_pred_site_chunk_t;


/** The number of sites that there may be even if few regions are known: a
 *  program may use one buffer from many places. */
#define UCS_RCACHE_PRED_FIRST_SITES 16384


/**
 * A table of sites. The number of sites follows the number of regions up to a bound. When
 * all sites are taken, a new site replaces the least recently used, approximately: the
 * CLOCK algorithm finds the site.
 */
typedef struct ucs_rcache_pred_site_table {
    ucs_rcache_pred_site_chunk_t *chunks; /**< The memory of all sites */
    ucs_list_link_t        clock;       /**< All sites, from the clock's hand on */
    ucs_hlist_head_t       *buckets;
    unsigned               max_sites;   /**< The bound */
    unsigned               limit;       /**< How many sites there may be now */
    unsigned               num_sites;   /**< How many sites there are, taken or
                                             free */
    unsigned               bucket_mask;
    unsigned               num_companions; /**< How many sites have companions */
} ucs_rcache_pred_site_table_t;


/** @param [in] max_sites  How many sites there may be in the end, 1..2^30. */
ucs_status_t
ucs_rcache_pred_site_table_init(ucs_rcache_pred_site_table_t *table,
                                unsigned max_sites);

/** Let there be sites for a number of known regions, within the bound. The
 *  number of sites never becomes smaller. */
void ucs_rcache_pred_site_table_expect(ucs_rcache_pred_site_table_t *table,
                                       unsigned regions);

/** Free the memory of a table. */
void ucs_rcache_pred_site_table_cleanup(ucs_rcache_pred_site_table_t *table);

/** @return the site with this signature, or NULL. */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_find(ucs_rcache_pred_site_table_t *table,
                          uint64_t signature);

/**
 * Find the site with this signature, and let it be the first one in the
 * region's list. If there is none, make one. Never fails: if the table is full,
 * a site is removed, perhaps one of another region.
 *
 * @param [in] region_sites  List of the region's sites.
 */
ucs_rcache_pred_site_t*
ucs_rcache_pred_site_get(ucs_rcache_pred_site_table_t *table,
                         uint64_t signature, ucs_list_link_t *region_sites);

/** Let a site have no companions. */
void ucs_rcache_pred_site_free_companions(ucs_rcache_pred_site_table_t *table,
                                          ucs_rcache_pred_site_t *site);

/** Remove a site from the table and from its region's list. */
void ucs_rcache_pred_site_remove(ucs_rcache_pred_site_table_t *table,
                                 ucs_rcache_pred_site_t *site);

END_C_DECLS

#endif
