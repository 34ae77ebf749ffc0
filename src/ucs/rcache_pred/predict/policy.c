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

/* The weight of a measurement in a region's own cost. A measurement counts as OWN_MOST times
 * the own cost at most, since a thread that loses its processor in an operation measures any
 * time */
#define OWN_WEIGHT .25
#define OWN_MOST   4.

/* A region's own cost is apart from the line if the region takes 1.5 times as long as the
 * line says, or longer, or two thirds of that time, or less. Otherwise the line is the
 * estimate, since more measurements are behind the line. Memory in huge pages takes a third
 * (Soft-RoCE) to a twentieth (natively) of the time of other memory. A region that is apart
 * moves the line by measurements within these limits only: a few such regions hardly bend
 * the line, and if all regions change, the line follows them */
#define OWN_APART 1.5


void ucs_rcache_pred_cost_init(ucs_rcache_pred_cost_t *cost, double a, double b)
{
    *cost = (ucs_rcache_pred_cost_t){ .a = a, .b = b };

    /* Start with two points on the guessed line. Each has the weight of one
     * measurement */
    ucs_line_add(&cost->line, 1, a + b);
    ucs_line_add(&cost->line, 256, a * 256 + b);
}

static void cost_add(ucs_rcache_pred_cost_t *cost, size_t pages,
                     ucs_rcache_pred_time_t time)
{
    ucs_line_fade(&cost->line, COST_FADE);
    ucs_line_add(&cost->line, pages, time);
    (void)ucs_line_fit(&cost->line, &cost->a, &cost->b);
}

static double cost_usual(const ucs_rcache_pred_cost_t *cost, size_t pages)
{
    return ucs_max(cost->a * pages + cost->b, 1.);
}

/* The region's own cost of so many pages: for another number of pages than measured, the
 * line says by how much more or less they cost */
static double own_time(const ucs_rcache_pred_cost_t *cost, const ucs_rcache_pred_own_t *own,
                       size_t pages)
{
    double usual = cost_usual(cost, pages);

    return (own->time == 0) ? usual :
           (own->time * usual / cost_usual(cost, own->pages));
}

static int own_is_apart(double own, double usual)
{
    return (own >= OWN_APART * usual) || (OWN_APART * own <= usual);
}

void ucs_rcache_pred_cost_update(ucs_rcache_pred_cost_t *cost, ucs_rcache_pred_own_t *own,
                                 size_t pages, ucs_rcache_pred_time_t time)
{
    double usual = cost_usual(cost, pages);
    double most, mine;

    if ((own == NULL) || (own->pages == 0)) {
        cost_add(cost, pages, time);
    } else {
        mine      = own_time(cost, own, pages);
        most      = ucs_min(time, OWN_MOST * mine);
        mine     += (most - mine) * OWN_WEIGHT;
        own->time = ucs_max(mine, 1.);
        cost_add(cost, pages, !own_is_apart(mine, usual) ? most :
                 ucs_min(ucs_max(time, usual / OWN_APART), usual * OWN_APART));
    }
    if (own != NULL) {
        own->pages = pages;
    }
}

ucs_rcache_pred_time_t
ucs_rcache_pred_cost_estimate(const ucs_rcache_pred_cost_t *cost,
                              const ucs_rcache_pred_own_t *own, size_t pages)
{
    double usual = cost->a * pages + cost->b;
    double mine  = (own == NULL) ? usual : own_time(cost, own, pages);

    return own_is_apart(mine, usual) ? mine : usual;
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
