/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_TRUST_H_
#define UCS_RCACHE_PRED_TRUST_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/sys/math.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file trust.h
 *
 * How far predictions are trusted: one measure, and one rule, for all who make
 * predictions. Each of them, a holder, has a score, which is 0 while nothing is
 * known. A prediction that comes true raises the score by MET, and one that does not
 * lowers the score by the price of its holder: the score falls where fewer than
 * price / (price + MET) of the predictions come true. The score stays between a floor
 * and a cap, so that the distant past of a holder does not count for ever. The rule and
 * its numbers are ours, and not the paper's.
 */

/** What a met prediction adds to the score. Of this size, all prices are whole
 *  numbers. */
#define UCS_RCACHE_PRED_TRUST_MET 6

/** The score from which on a holder is trusted, whatever others say: after eight met
 *  predictions in a row. Where a quarter of all predictions are met by accident, so many
 *  are met in a row once in 65000 times. */
#define UCS_RCACHE_PRED_TRUST_TRUSTED (8 * UCS_RCACHE_PRED_TRUST_MET)


/** The score of slices before their first burst, and the least at which slices are joined:
 *  a wrong opinion costs the registration of all of them. */
#define UCS_RCACHE_PRED_TRUST_TOGETHER 12


/** A score. 0: nothing is known yet. */
typedef int16_t ucs_rcache_pred_trust_t;


/** Who has a score. */
typedef enum {
    /** A history (history.h), for the predictions on which somebody has acted: two
     *  that are not met silence a new history, and four any history, since each of
     *  them is a registration for nothing. One interval as predicted lets the history
     *  speak again. */
    UCS_RCACHE_PRED_TRUST_HISTORY,

    /** A region, for all predictions about it, even if nobody has acted on them. Four that
     *  are not met come before it is doubted: each loop ends at some time, and what costs
     *  most is to doubt a region where every second prediction is met. Random uses take
     *  the score to the floor. Two in a row that are not met always end that the region is
     *  trusted. */
    UCS_RCACHE_PRED_TRUST_REGION,

    /** A place of the program, for the predictions about its regions. If intervals are
     *  random, 10 to 35 % of predictions are met; if a period varies by 20 %, more than
     *  half of the first predictions are: two fifths lie between. 31 met predictions
     *  make up for any past. */
    UCS_RCACHE_PRED_TRUST_PLACE,

    /** A way of use (precedent.c), for the regions that follow its precedent. Each of
     *  them counts as unmet from when it follows until its use has come: at most four
     *  registrations are for nothing, and each met one lets two more regions follow. */
    UCS_RCACHE_PRED_TRUST_WAY,

    /** Slices of a buffer, in being used together (helper/burst.c), for their last 16
     *  bursts: met is a burst that used half of the bytes or more. Slices that are used
     *  in turns, one in each burst, come to be doubted as well. */
    UCS_RCACHE_PRED_TRUST_SLICES
} ucs_rcache_pred_trust_holder_t;


/** How far the score of each holder goes, from which score down the holder is doubted, and
 *  what an unmet prediction takes from the score. */
static const struct {
    ucs_rcache_pred_trust_t floor;
    ucs_rcache_pred_trust_t doubted;
    ucs_rcache_pred_trust_t cap;
    ucs_rcache_pred_trust_t price;
} ucs_rcache_pred_trust_holders[] = {
    {-12,  -12, 12,  6},  /* HISTORY */
    {-96,  -16, 52,  4},  /* REGION: cap - price is TRUSTED, so that a region at the cap is
                             still trusted after one unmet prediction */
    {-192, -12, 192, 4},  /* PLACE */
    {-12,  -12, 192, 3},  /* WAY */
    {-180, -12, 12,  12}  /* SLICES: from the cap, 16 unmet bursts take the score to the
                             floor */
};


/** Tell a holder whether a prediction was met. */
static inline void
ucs_rcache_pred_trust_tell(ucs_rcache_pred_trust_t *trust,
                           ucs_rcache_pred_trust_holder_t holder, int met)
{
    int floor = ucs_rcache_pred_trust_holders[holder].floor;
    int cap   = ucs_rcache_pred_trust_holders[holder].cap;
    int price = ucs_rcache_pred_trust_holders[holder].price;

    *trust = met ? ucs_min(*trust + UCS_RCACHE_PRED_TRUST_MET, cap) :
                   ucs_max(*trust - price, floor);
}

static inline int
ucs_rcache_pred_trust_is_doubted(ucs_rcache_pred_trust_t trust,
                                 ucs_rcache_pred_trust_holder_t holder)
{
    return trust <= ucs_rcache_pred_trust_holders[holder].doubted;
}

END_C_DECLS

#endif
