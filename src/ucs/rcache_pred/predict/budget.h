/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_BUDGET_H_
#define UCS_RCACHE_PRED_BUDGET_H_

#include <ucs/rcache_pred/api/rcache_pred.h>

/** @file budget.h
 *
 * What it may cost to give up memory: a part of the program's run time, which
 * is spent where it saves most. The paper has no such bound: its conditions
 * look at one region at a time, so that the sum of what is done about many
 * regions can be more than the program has time for.
 *
 * Time flows into an account at the rate of the budget, and what giving up
 * memory has cost is taken out. Giving up so many bytes for an idle time saves
 * bytes * idle. Divided by the cost this is a worth, in bytes: what would be
 * saved on average if a processor did nothing else. The emptier the account,
 * the more a region has to be worth. docs/design/budget.md derives this.
 *
 * The functions are pure: they take times and costs as arguments and need no
 * lock. The helper calls them, under its mutex.
 */

/** What a round of the helper's thread costs besides its processor time, ns, if
 *  it shares a processor: two switches from one thread to another. Measured: two
 *  threads on one processor that wake each other by semaphores need 4950 ns there
 *  and back (AMD EPYC, Linux 6.18). */
#define UCS_RCACHE_PRED_SWITCHES_COST 5000

/** Longest pause after a round, ns. Then uses are looked at even if there is no budget
 *  at all. */
#define UCS_RCACHE_PRED_PAUSE_MAX 1000000000ul


typedef struct ucs_rcache_pred_budget {
    double                 rate;    /**< What flows in, ns for each ns of run time;
                                         INFINITY: there is no bound */
    double                 left;    /**< The content of the account, ns; less than 0: a
                                         debt */
    double                 deposit; /**< Set aside for unpredicted uses: such a use
                                         registers by itself. The deposit flows back with
                                         time, ns */
    double                 spent;   /**< What has been spent so far without
                                         deposits, ns; is counted even if there
                                         is no bound */
    ucs_rcache_pred_time_t start;   /**< When the account was opened; 0: not
                                         yet */
    ucs_rcache_pred_time_t time;    /**< Until when time has flowed in */
} ucs_rcache_pred_budget_t;


/** @param [in] rate  What flows in, a part of the run time, 0 or more: 0.01 is one
 *                    percent. With 0 nothing is ever given up. */
void ucs_rcache_pred_budget_init(ucs_rcache_pred_budget_t *budget, double rate);

/** Change the rate, from now on. A content above the capacity at the new rate is lost at
 *  the next @ref ucs_rcache_pred_budget_advance. */
void ucs_rcache_pred_budget_set_rate(ucs_rcache_pred_budget_t *budget, double rate);

/** Let time flow in, up to now. The first call opens the account. A clock that
 *  goes back brings nothing. */
void ucs_rcache_pred_budget_advance(ucs_rcache_pred_budget_t *budget,
                                    ucs_rcache_pred_time_t now);

/**
 * Decide whether giving up a region is worth what it costs, and if so, spend
 * that.
 *
 * @param [in] bytes    Bytes of the region.
 * @param [in] idle     For how long they would not be registered, ns.
 * @param [in] cost     What that costs in any case, ns.
 * @param [in] deposit  What it costs besides if a use comes that nobody
 *                      predicts, ns.
 * @return whether to give up the region.
 */
int ucs_rcache_pred_budget_give_up(ucs_rcache_pred_budget_t *budget,
                                   uint64_t bytes, ucs_rcache_pred_time_t idle,
                                   double cost, double deposit);

/** @return the number of bytes to save at present, for as long as giving up takes, to be
 *  worth the cost; 0 if there is no bound. */
double ucs_rcache_pred_budget_worth(const ucs_rcache_pred_budget_t *budget);

/** @return whether there is something left to spend. */
int ucs_rcache_pred_budget_may_spend(const ucs_rcache_pred_budget_t *budget);

/** Take out what has been spent, ns, whether or not there is enough; or put back
 *  what was not needed, if less than 0. */
void ucs_rcache_pred_budget_spend(ucs_rcache_pred_budget_t *budget,
                                  double cost);

/** A use has come after so many ns were set aside: return the rest of the deposit. The
 *  cost of the use is to be spent. */
void ucs_rcache_pred_budget_return(ucs_rcache_pred_budget_t *budget,
                                   double deposit);

/** @return the cost of a ns of a helper with a processor of its own: such a part of a ns
 *  that the account lets the helper use half of its processor. */
double
ucs_rcache_pred_budget_own_price(const ucs_rcache_pred_budget_t *budget);

/** @return how long to do nothing after a round of the helper that has cost so
 *          much, ns, so that rounds take half of the budget at most. */
ucs_rcache_pred_time_t
ucs_rcache_pred_budget_pause(const ucs_rcache_pred_budget_t *budget,
                             double cost);

/** @return for how long the account has been open, ns. */
static inline ucs_rcache_pred_time_t
ucs_rcache_pred_budget_age(const ucs_rcache_pred_budget_t *budget)
{
    return budget->time - budget->start;
}

#endif
