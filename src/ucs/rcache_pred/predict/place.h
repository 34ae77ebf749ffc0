/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_PLACE_H_
#define UCS_RCACHE_PRED_PLACE_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file place.h
 *
 * What regions that are used from one place of the program tell about each
 * other. A place is a caller and the path of calls that led to it, whatever the
 * buffer and the communications before. Where the uses of a place come at
 * random, not each of its regions has to find that out for itself. The functions
 * are pure; only the helper calls them, so that they need no lock.
 */

/** A place has a score, which a deadline that was met raises and one that was
 *  not met lowers: it falls where fewer than two fifths of them are met. Of
 *  deadlines from intervals at random, 10 to 35 % are met, and of those from
 *  the first intervals of a period that varies by 20 %, more than half. */
#define UCS_RCACHE_PRED_PLACE_MET   3
#define UCS_RCACHE_PRED_PLACE_UNMET 2

/** The score of a place that is not believed any more. The benefit of the doubt
 *  costs so many registrations for nothing. */
#define UCS_RCACHE_PRED_PLACE_DOUBTED -6

/** The score is from -MAX to MAX, so that a place that changes its ways is not
 *  held to what it did long ago: 31 deadlines that are met make up for
 *  whatever was before. */
#define UCS_RCACHE_PRED_PLACE_MAX 96

/* Places are kept in sets of so many, by their hash. In each set, the one that
 * was judged last comes first, and a new one replaces the last one. */
#define UCS_RCACHE_PRED_PLACE_SETS 256
#define UCS_RCACHE_PRED_PLACE_WAYS 4


/** What is known of one place. */
typedef struct ucs_rcache_pred_place {
    uint64_t hash;   /**< See @ref ucs_rcache_pred_signature_of_place;
                          0: none is here */
    uint64_t region; /**< About which region the last verdict was */
    int8_t   score;
} ucs_rcache_pred_place_t;


/** The places that were judged lately. All zero: none is known. */
typedef struct ucs_rcache_pred_place_table {
    ucs_rcache_pred_place_t sets[UCS_RCACHE_PRED_PLACE_SETS]
                                [UCS_RCACHE_PRED_PLACE_WAYS];
} ucs_rcache_pred_place_table_t;


/**
 * Learn that a deadline of a region that was last used from this place was met,
 * or was not. Several verdicts in a row about one region count once: what
 * becomes of it alone is its own matter, and says little about others.
 *
 * @param [in] hash    Of the place, not 0.
 * @param [in] region  Tells regions apart.
 */
void ucs_rcache_pred_place_judge(ucs_rcache_pred_place_table_t *table,
                                 uint64_t hash, uint64_t region, int met);

/** @return whether predictions for regions of this place are not to be believed
 *          unless they have been right for the region itself. That is not so of
 *          a place of which nothing is known. */
int ucs_rcache_pred_place_is_doubted(const ucs_rcache_pred_place_table_t *table,
                                     uint64_t hash);

END_C_DECLS

#endif
