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
 * What it may cost to deregister memory and to register it again: a part of the
 * program's run time, which is spent where it unpins most. The paper has no
 * such bound: its conditions look at one region at a time, so that the work for
 * many regions together can take more time than the program has.
 *
 * Time flows into an account at the rate of the budget, and the cost of each
 * step that deregisters memory is taken out. Deregistering a region for an idle
 * time saves bytes * idle of pinned memory. Divided by its cost in time, this
 * gives the worth of the step, in bytes: the memory that would on average be
 * unpinned if one processor spent all its time on such steps. The emptier the
 * account, the more a step has to be worth. docs/design/budget.md derives this.
 *
 * The functions are pure: they take times and costs as arguments and need no
 * lock. The helper calls them, under its mutex.
 */

/** The cost of a round of the helper's thread besides its processor time, if
 *  the thread shares a processor, ns: two switches from one thread to another.
 *  Measured: two threads on one processor that wake each other by semaphores
 *  need 4950 ns there and back (AMD EPYC, Linux 6.18). */
#define UCS_RCACHE_PRED_SWITCHES_COST 5000

/** Longest pause after a round of the helper, ns. So the helper looks at uses
 *  from time to time even without any budget. */
#define UCS_RCACHE_PRED_PAUSE_MAX 1000000000ul


/** An account. All zero but for the rate: it was not opened yet. */
typedef struct ucs_rcache_pred_budget {
    double                 rate;    /**< What flows in, ns for each ns of run time:
                                         0.01 is one percent. With 0 no memory is ever
                                         deregistered for prediction; INFINITY: there
                                         is no bound. If the rate is changed, what is
                                         above the capacity at the new rate is lost at
                                         the next advance */
    double                 left;    /**< The content of the account, ns; less than 0: a
                                         debt. INFINITY if there is no bound */
    double                 deposit; /**< Time, ns, that was taken out of the account
                                         and set aside for registrations by uses
                                         that nobody predicts. The deposit flows
                                         back into the account with time */
    double                 spent;   /**< Spent so far, without deposits, ns;
                                         counted even if there is no bound */
    ucs_rcache_pred_time_t start;   /**< When the account was opened; 0: not
                                         yet */
    ucs_rcache_pred_time_t time;    /**< The time up to which the inflow was
                                         added */
} ucs_rcache_pred_budget_t;


/** Let time flow in, up to now. The first call opens the account. A clock that
 *  goes back brings nothing. */
void ucs_rcache_pred_budget_advance(ucs_rcache_pred_budget_t *budget,
                                    ucs_rcache_pred_time_t now);

/**
 * Decide whether deregistering a region is worth its cost. If so, take the cost
 * and the deposit out of the account.
 *
 * @param [in] bytes    Bytes of the region.
 * @param [in] idle     How long the region would stay unregistered, ns.
 * @param [in] cost     What the helper takes to deregister the region, and to
 *                      register it again if a use is predicted, ns.
 * @param [in] deposit  What a use that nobody predicts would take to register the
 *                      region again, ns; 0 if a use is predicted.
 * @return whether to deregister the region.
 */
int ucs_rcache_pred_budget_give_up(ucs_rcache_pred_budget_t *budget,
                                   uint64_t bytes, ucs_rcache_pred_time_t idle,
                                   double cost, double deposit);

/** @return the least worth of a step at present, bytes: the memory that a step
 *  has to unpin for as long as the step itself takes; 0 if there is no bound. */
double ucs_rcache_pred_budget_worth(const ucs_rcache_pred_budget_t *budget);

/** @return whether there is something left to spend. */
int ucs_rcache_pred_budget_may_spend(const ucs_rcache_pred_budget_t *budget);

/** Take a cost, ns, out of the account, which may become less than 0; or put
 *  time back that was taken out and not needed, if @a cost is less than 0. */
void ucs_rcache_pred_budget_spend(ucs_rcache_pred_budget_t *budget,
                                  double cost);

/** @return the most that may be taken out of the account, ns, so that what flows in within a
 *          second pays the debt; INFINITY if there is no bound. */
double ucs_rcache_pred_budget_most(const ucs_rcache_pred_budget_t *budget);

/** A use has come for which a deposit was set aside, ns: put the part that has
 *  not flowed back yet into the account. The caller spends the cost of the use
 *  itself. */
void ucs_rcache_pred_budget_return(ucs_rcache_pred_budget_t *budget,
                                   double deposit);

/** @return the price of a ns of a helper that has a processor for itself, ns: a
 *  part of a ns, so that the inflow pays for half of that processor. */
double
ucs_rcache_pred_budget_own_price(const ucs_rcache_pred_budget_t *budget);

/** @return how long the helper is to pause after a round with this cost, ns, so
 *          that rounds take half of the budget at most. */
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
