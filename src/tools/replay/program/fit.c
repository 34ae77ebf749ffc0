/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fit.h"

#include <tools/base/containers.h>
#include <ucs/rcache_pred/predict/policy.h>

#include <ucs/sys/math.h>


static const predreg_cost_t reg_guess   = {
    .page = UCS_RCACHE_PRED_REG_COST_PER_PAGE,
    .op   = UCS_RCACHE_PRED_REG_COST_PER_OP
};
static const predreg_cost_t dereg_guess = {
    .page = UCS_RCACHE_PRED_DEREG_COST_PER_PAGE,
    .op   = UCS_RCACHE_PRED_DEREG_COST_PER_OP
};


/* @return the part of a cost that registrations have, and not deregistrations: as recorded,
 *         or as guessed */
static double reg_share(const ucs_line_t *regs, const ucs_line_t *deregs, double reg,
                        double dereg)
{
    if ((regs->n > 0) && (deregs->n > 0)) {
        reg   = regs->y / regs->n;
        dereg = deregs->y / deregs->n;
    }

    return (reg + dereg > 0) ? (reg / (reg + dereg)) : 0;
}

/* Guess the costs that the events do not tell. The recorded process has timed registrations
 * of one to three pages, each with its deregistration; a trace without these times gets the
 * first guess of the library. Where all events have the same size, they do not tell what a
 * page costs, and the replay may register many buffers as one */
static void make_guesses(const ucs_rcache_trace_t *trace, const ucs_line_t *regs,
                         const ucs_line_t *deregs, predreg_cost_t *reg,
                         predreg_cost_t *dereg)
{
    ucs_reuse_costs_t costs;
    double page, op;

    *reg   = reg_guess;
    *dereg = dereg_guess;
    if (predreg_trace_costs(trace, &costs)) {
        page   = reg_share(regs, deregs, reg_guess.page, dereg_guess.page);
        op     = reg_share(regs, deregs, reg_guess.op, dereg_guess.op);
        *reg   = (predreg_cost_t){costs.reg_page * page, costs.reg_call * op};
        *dereg = (predreg_cost_t){costs.reg_page * (1 - page), costs.reg_call * (1 - op)};
    }
}

/* Keep of the times of first registrations what is beyond that of others, if the times of
 * others are known */
static void keep_fresh(predreg_timeline_t *timeline, int is_known)
{
    predreg_use_t *use;
    uint64_t usual;

    predreg_for_each(use, timeline->uses, timeline->num_uses) {
        usual      = predreg_cost_of(&timeline->reg, use->address, use->length);
        use->fresh = is_known ? (use->fresh - ucs_min(use->fresh, usual)) : 0;
    }
}

/* First registrations of one size do not tell what a page costs. If they take longer than the
 * guess, the system has made the pages: a call takes what is guessed, and the pages the rest.
 * Else an operation on a piece of the memory would take as long as one on all of it */
static void blame_pages(predreg_cost_t *cost, const predreg_cost_t *guess,
                        const ucs_line_t *regs)
{
    if (regs->y > (guess->op * regs->n) + (guess->page * regs->x)) {
        cost->op   = guess->op;
        cost->page = (regs->y - (guess->op * regs->n)) / regs->x;
    }
}

/* Let a timeline have the costs of the first uses of memory that UCX's own cache registered */
static void fit_first_uses(predreg_timeline_t *timeline, predreg_points_t *first_uses)
{
    timeline->first_uses = *first_uses;
    *first_uses          = (predreg_points_t){};
    timeline->reg_known  = predreg_points_line(&timeline->first_uses, &timeline->reg_guess,
                                               &timeline->reg, &timeline->reg_page_known);
    keep_fresh(timeline, 1);
}

void predreg_timeline_fit(predreg_timeline_t *timeline, const ucs_rcache_trace_t *trace,
                          const predreg_measured_t *measured, predreg_points_t *first_uses)
{
    /* If the process has registered no memory twice, the line is that of first
     * registrations */
    int is_known                = (measured->reg.num_points > 0);
    const predreg_points_t *reg = is_known ? &measured->reg : &measured->first_reg;
    predreg_cost_t dereg_guessed;
    ucs_line_t regs, deregs;

    predreg_points_sum(reg, is_known, &regs);
    predreg_points_sum(&measured->dereg, 1, &deregs);
    make_guesses(trace, &regs, &deregs, &timeline->reg_guess, &dereg_guessed);
    timeline->dereg_known = predreg_fit_line(&deregs, &dereg_guessed, &timeline->dereg,
                                             &timeline->dereg_page_known);
    if (regs.n == 0) {
        fit_first_uses(timeline, first_uses);
        return;
    }

    timeline->reg_known = predreg_fit_line(&regs, &timeline->reg_guess, &timeline->reg,
                                           &timeline->reg_page_known);
    if (!is_known && !timeline->reg_page_known) {
        blame_pages(&timeline->reg, &timeline->reg_guess, &regs);
    }
    keep_fresh(timeline, is_known);
    predreg_points_spread(reg, &timeline->reg, &timeline->reg_spread);
    predreg_points_spread(&measured->dereg, &timeline->dereg, &timeline->dereg_spread);
}
