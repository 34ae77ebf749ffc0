/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policy.h"

#include <ucs/sys/math.h>

#include <math.h>


/* Weight of a measurement after the next one has come. After some 22 newer ones
 * its weight is one half. So the estimate follows a change of the system, such
 * as another page size or fragmented memory, within a phase of a program */
#define COST_FADE 0.97

/* A measurement counts for the region's own cost as this many times that cost at most, since
 * a thread that loses its processor in an operation measures any time. It counts for the
 * line, unless it is the region's first one, as so many times what the line says at most, and
 * as the inverse at least. So a few slow regions, or a few large ones in huge pages, hardly
 * bend the line, and a change of all regions moves it */
#define COST_MOST 2.

/* Where a region's own cost differs from the line by this part at most, the line is the
 * estimate: more measurements are behind it */
#define OWN_LEAST (1 / 3.)


void ucs_rcache_pred_cost_init(ucs_rcache_pred_cost_t *cost, double a, double b)
{
    *cost = (ucs_rcache_pred_cost_t){ .a = a, .b = b };

    /* Start with two points on the guessed line. Each has the weight of one
     * measurement */
    ucs_line_add(&cost->line, 1, a + b);
    ucs_line_add(&cost->line, 256, a * 256 + b);
}

void ucs_rcache_pred_cost_update(ucs_rcache_pred_cost_t *cost, float *own, size_t pages,
                                 ucs_rcache_pred_time_t time)
{
    double usual = ucs_rcache_pred_cost_estimate(cost, 0, pages);

    ucs_line_fade(&cost->line, COST_FADE);
    ucs_line_add(&cost->line, pages, ((own == NULL) || (*own == 0)) ? time :
                 ucs_min(ucs_max(time, usual / COST_MOST), usual * COST_MOST));
    (void)ucs_line_fit(&cost->line, &cost->a, &cost->b);
    if (own != NULL) {
        /* The line has just learned of the region's first measurement. The next ones tell
         * whether that was enough */
        usual = 1 + ucs_rcache_pred_cost_estimate(cost, 0, pages);
        *own += (*own == 0) ? 1e-9 :
                (ucs_min(time / usual, COST_MOST * (1 + *own)) - 1 - *own) / 2;
    }
}

ucs_rcache_pred_time_t
ucs_rcache_pred_cost_estimate(const ucs_rcache_pred_cost_t *cost, float own, size_t pages)
{
    return (cost->a * pages + cost->b) * ((fabsf(own) > OWN_LEAST) ? (1 + own) : 1);
}


#define RESERVE_SHARE 16
#define RESERVE_MAX   (4ul << 20)


/* @return the time for a deregistration and a registration, with all possible
 * delays */
static ucs_rcache_pred_time_t
times_total(const ucs_rcache_pred_times_t *times)
{
    return ucs_rcache_pred_spacing(times) + times->wakeup + times->share;
}

int ucs_rcache_pred_may_deregister(const ucs_rcache_pred_times_t *times,
                                   ucs_rcache_pred_time_t now,
                                   ucs_rcache_pred_time_t deadline)
{
    return (deadline == UCS_RCACHE_PRED_TIME_INF) ||
           (now + times_total(times) + times->margin <= deadline);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_due_time(const ucs_rcache_pred_times_t *times,
                         ucs_rcache_pred_time_t deadline)
{
    return deadline - ucs_min(times_total(times), deadline);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_share(const ucs_rcache_pred_seat_t *seat)
{
    return ((seat->sharers <= 1) && (seat->idle > 0)) ? 0 :
           (seat->sharers * seat->slice);
}

static ucs_rcache_pred_mode_t
wanted_mode(ucs_rcache_pred_helper_t helper, const ucs_rcache_pred_seat_t *seat,
            int is_short)
{
    return ((helper == UCS_RCACHE_PRED_HELPER_PROGRESS) ||
            ((helper == UCS_RCACHE_PRED_HELPER_CONSERVATIVE) && (seat->idle <= 0) &&
             !is_short)) ?
           UCS_RCACHE_PRED_MODE_PROGRESS : UCS_RCACHE_PRED_MODE_THREAD;
}

ucs_rcache_pred_mode_t
ucs_rcache_pred_choose_mode(ucs_rcache_pred_helper_t helper,
                            const ucs_rcache_pred_seat_t *seat, int is_short,
                            ucs_rcache_pred_mode_t mode, unsigned *votes)
{
    ucs_rcache_pred_mode_t wanted = wanted_mode(helper, seat, is_short);

    if ((wanted == UCS_RCACHE_PRED_MODE_THREAD) && (wanted != mode) && !is_short &&
        (++*votes < UCS_RCACHE_PRED_MODE_VOTES)) {
        return mode;
    }

    *votes = 0;
    return wanted;
}

ucs_rcache_pred_time_t
ucs_rcache_pred_spacing(const ucs_rcache_pred_times_t *times)
{
    return times->rq_item + times->reg + times->dq_item + times->dereg;
}

uint64_t ucs_rcache_pred_bound_reserve(uint64_t max_bytes, size_t page_size)
{
    uint64_t least = ucs_rcache_pred_pieces_reserve(page_size);

    if (max_bytes == UINT64_MAX) {
        return 0;
    }

    return ucs_min(ucs_max(max_bytes / RESERVE_SHARE, least),
                   ucs_min(RESERVE_MAX, max_bytes / 2));
}

size_t ucs_rcache_pred_piece_pages(const ucs_rcache_pred_cost_t *reg,
                                   const ucs_rcache_pred_cost_t *dereg,
                                   size_t pages)
{
    /* If larger registrations cost no more than small ones: one piece */
    double piece = (reg->a <= 0) ? pages : sqrt(pages * (reg->b + dereg->b) / reg->a);

    return (piece >= pages) ? pages : ucs_max((size_t)piece, (size_t)1);
}

int ucs_rcache_pred_pieces_pay(const ucs_rcache_pred_cost_t *reg,
                               const ucs_rcache_pred_cost_t *dereg,
                               size_t pages, size_t piece)
{
    double count = (double)pages / piece;

    return (count >= 2) && ((reg->a * piece) + (count * (reg->b + dereg->b)) <=
                            (reg->a * pages));
}


/* In this time, ns, the part makes up for 1 - 1/e of its difference from the waits: an
 * iteration or two of a program that computes for a second between its messages. With 5e9 the
 * program test/apps/pressure took 17 s in place of 10 to 13, see docs/benchmarks.md */
#define FOLLOW_TIME 2e9

/* Memory is short from the first part of the time on in which processes wait, and until they
 * wait for less than the second one */
#define SHORT_BEGIN 0.01
#define SHORT_END   0.002


void ucs_rcache_pred_shortage_update(ucs_rcache_pred_shortage_t *shortage, double waits,
                                     unsigned procs, double own, double elapsed)
{
    double lost, follow;

    if (elapsed <= 0) {
        return;
    }

    lost             = ucs_max((waits / procs) - (own / elapsed), 0.);
    follow           = 1 - exp(-elapsed / FOLLOW_TIME);
    shortage->part  += (lost - shortage->part) * follow;
    shortage->waits += (waits - shortage->waits) * follow;
    shortage->is_short = shortage->waits >= (shortage->is_short ? SHORT_END : SHORT_BEGIN);
}
