/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "budget.h"

#include <ucs/sys/math.h>

#include <math.h>

/* The capacity of the account is what flows in during the time since it was opened, but
 * during CAPACITY_MIN ns at least and CAPACITY_MAX ns at most. The account starts
 * full. */
#define CAPACITY_MAX 1e9
#define CAPACITY_MIN 50e6

/* Deposits flow back within this time, ns. */
#define DEPOSIT_TIME 1e9

/* The least worth of a step, bytes, as a power of 2. While the account is full: one page,
 * which is unpinned for as long as the step takes. While it is nearly empty: 64 TiB, more
 * memory than a machine has */
#define WORTH_FULL  12.
#define WORTH_EMPTY 46.

/* The part of a processor of its own that a helper may use. The rest is left to
 * other programs of the machine */
#define OWN_SHARE .5

/* The largest part of the budget for rounds of the helper */
#define ROUNDS_SHARE .5


/* How much the account holds at most, ns */
static double capacity(const ucs_rcache_pred_budget_t *budget)
{
    double age = ucs_rcache_pred_budget_age(budget);

    return budget->rate * ucs_max(ucs_min(age, CAPACITY_MAX), CAPACITY_MIN);
}

void ucs_rcache_pred_budget_advance(ucs_rcache_pred_budget_t *budget,
                                    ucs_rcache_pred_time_t now)
{
    ucs_rcache_pred_time_t age;
    double elapsed, back;

    if (budget->start == 0) {
        budget->start = budget->time = now;
        budget->left  = capacity(budget);
        return;
    }

    if (now < budget->time) {
        /* The clock went back: move the opening back as well, so that the
         * account stays as old as before, but not to a time of 0 */
        age           = ucs_rcache_pred_budget_age(budget);
        budget->start = (now > age) ? (now - age) : 1;
        budget->time  = now;
        return;
    }

    if (now == budget->time) {
        return; /* INFINITY times 0 is no number */
    }

    elapsed          = now - budget->time;
    back             = budget->deposit * ucs_min(elapsed / DEPOSIT_TIME, 1.);
    budget->time     = now;
    budget->deposit -= back;
    budget->left     = ucs_min(budget->left + (elapsed * budget->rate) + back,
                               capacity(budget));
}

double ucs_rcache_pred_budget_worth(const ucs_rcache_pred_budget_t *budget)
{
    double full;

    if (isinf(budget->rate)) {
        return 0;
    }

    full = (budget->left > 0) ? (budget->left / capacity(budget)) : 0;
    return exp2(WORTH_EMPTY - ((WORTH_EMPTY - WORTH_FULL) * full));
}

int ucs_rcache_pred_budget_may_spend(const ucs_rcache_pred_budget_t *budget)
{
    return budget->left > 0;
}

int ucs_rcache_pred_budget_give_up(ucs_rcache_pred_budget_t *budget,
                                   uint64_t bytes, ucs_rcache_pred_time_t idle,
                                   double cost, double deposit)
{
    if (!ucs_rcache_pred_budget_may_spend(budget) ||
        (((double)bytes * idle) <
         ((cost + deposit) * ucs_rcache_pred_budget_worth(budget)))) {
        return 0;
    }

    budget->left    -= deposit;
    budget->deposit += deposit;
    ucs_rcache_pred_budget_spend(budget, cost);
    return 1;
}

void ucs_rcache_pred_budget_spend(ucs_rcache_pred_budget_t *budget, double cost)
{
    budget->spent += cost;
    budget->left  -= cost;
}

double ucs_rcache_pred_budget_most(const ucs_rcache_pred_budget_t *budget)
{
    return ucs_max(budget->left + capacity(budget), 0.);
}

void ucs_rcache_pred_budget_return(ucs_rcache_pred_budget_t *budget,
                                   double deposit)
{
    double held = ucs_min(budget->deposit, deposit);

    budget->deposit -= held;
    budget->left    += held;
}

double
ucs_rcache_pred_budget_own_price(const ucs_rcache_pred_budget_t *budget)
{
    return ucs_min(budget->rate / OWN_SHARE, 1.);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_budget_pause(const ucs_rcache_pred_budget_t *budget,
                             double cost)
{
    return ucs_min(cost / (budget->rate * ROUNDS_SHARE), UCS_RCACHE_PRED_PAUSE_MAX);
}
