/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_POLICY_H_
#define UCS_RCACHE_PRED_POLICY_H_

#include <ucs/base/line.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/math.h>

BEGIN_C_DECLS

/** @file policy.h
 *
 * The decisions of the helper (CF'11, section 3.2), as pure functions of the
 * time and of the costs of operations. The helper and cache/ call them.
 */

/*
 * The cost of a registration or a deregistration as a linear function of its
 * size, a * pages + b (CF'11, section 3.2). The function is fitted to
 * measurements while the program runs.
 */

/** Assumed costs before the first measurement, in ns for each page and in ns for each
 *  operation. The order of magnitude was measured on Soft-RoCE and on io_uring. The first
 *  real measurements outweigh the assumption. */
#define UCS_RCACHE_PRED_REG_COST_PER_PAGE   50.
#define UCS_RCACHE_PRED_REG_COST_PER_OP     10000.
#define UCS_RCACHE_PRED_DEREG_COST_PER_PAGE 10.
#define UCS_RCACHE_PRED_DEREG_COST_PER_OP   5000.


/** A registration that takes so many times as long as expected was interrupted: while memory
 *  is short it has waited for memory, and in a recording another process may have had the
 *  processor. */
#define UCS_RCACHE_PRED_SLOW_TIMES 4


/**
 * A least-squares line through the measurements, in which old ones fade.
 * Updated and read under the lock of the cache.
 */
typedef struct ucs_rcache_pred_cost {
    ucs_line_t line; /**< The measurements: ns, by pages */
    double     a;    /**< Cost of each page, ns */
    double     b;    /**< Cost of each operation, ns */
} ucs_rcache_pred_cost_t;


/** @param [in] a, b  First guess of the cost of a page and of an operation,
 *  ns. */
void
ucs_rcache_pred_cost_init(ucs_rcache_pred_cost_t *cost, double a, double b);

/** Own cost of the registrations of a region, or of its deregistrations: memory in huge pages
 *  takes down to a twentieth of the time of other memory. All zero before the first
 *  measurement. Updated and read under the lock of the cache. */
typedef struct ucs_rcache_pred_own {
    float    time;  /**< Time that an operation on that many pages takes, ns; 0: the time is
                         the line's */
    uint32_t pages; /**< Pages of the last operation; 0: there was no operation yet */
} ucs_rcache_pred_own_t;


/**
 * Add one measurement: an operation on so many pages has taken this time. Each measurement
 * counts for the line. The first one of a region does not count for the region's own cost:
 * the system may have had to make the pages of the memory. If the region's own cost is far
 * from the line, its measurements hardly move the line.
 *
 * @param [inout] own  The own cost of the region that has the memory; NULL: a piece.
 */
void ucs_rcache_pred_cost_update(ucs_rcache_pred_cost_t *cost, ucs_rcache_pred_own_t *own,
                                 size_t pages, ucs_rcache_pred_time_t time);

/** @return the time that an operation on so many pages is expected to take, ns.
 *  @param [in] own  The own cost of the region that has the pages; NULL: as the line says. */
ucs_rcache_pred_time_t
ucs_rcache_pred_cost_estimate(const ucs_rcache_pred_cost_t *cost,
                              const ucs_rcache_pred_own_t *own, size_t pages);


/** @return the number of pages that [address, address + length) touches. The
 *          kernel pins whole pages. A range that would go on beyond the top of
 *          the address space ends there.
 *  @param [in] length     > 0.
 *  @param [in] page_size  Bytes. */
static inline size_t
ucs_rcache_pred_pages(uintptr_t address, size_t length, size_t page_size)
{
    uintptr_t more = ucs_min(length - 1, UINTPTR_MAX - address);

    return ((address + more) / page_size) - (address / page_size) + 1;
}


/** How long the parts of the helper's work take, ns. */
typedef struct ucs_rcache_pred_times {
    ucs_rcache_pred_time_t reg;      /**< To register this region */
    ucs_rcache_pred_time_t dereg;    /**< To deregister this region */
    ucs_rcache_pred_time_t dq_item;  /**< To process an entry of the
                                          deregistration queue, without the
                                          deregistration: t_hash, t_cache and
                                          t_insert of the paper */
    ucs_rcache_pred_time_t rq_item;  /**< To process an entry of the
                                          registration queue, without the
                                          registration: t_update of the paper */
    ucs_rcache_pred_time_t wakeup;   /**< How much later than asked for the
                                          helper may wake from a sleep */
    ucs_rcache_pred_time_t share;    /**< How long other helpers on the helper's
                                          processor may run before it: n
                                          (t_slice + t_cs) of inequality (2). 0:
                                          the helper has a processor for
                                          itself */
    ucs_rcache_pred_time_t margin;   /**< How long a region has to stay
                                          deregistered for the deregistration to
                                          be worth it */
} ucs_rcache_pred_times_t;


/**
 * The deregistration condition, inequalities (1) and (2) of the paper.
 *
 * @return whether there is time to deregister the region now and to register it
 *         again before its deadline, and the time in between is long enough to
 *         be worth it.
 */
int ucs_rcache_pred_may_deregister(const ucs_rcache_pred_times_t *times,
                                   ucs_rcache_pred_time_t now,
                                   ucs_rcache_pred_time_t deadline);

/**
 * The registration condition.
 *
 * @return the latest time at which the helper may still process another entry
 *         of the deregistration queue, or sleep, before it registers the
 *         region. From then on the region is due.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_due_time(const ucs_rcache_pred_times_t *times,
                         ucs_rcache_pred_time_t deadline);

/**
 * @return n (t_slice + t_cs) of inequality (2): how long the helpers of a shared
 * processor run before the turn of the present helper; 0 if each helper has a processor.
 * t_cs, some us, is left out, since wakeup includes t_cs: wakeup is measured from when
 * the helper should run until the helper runs.
 */
ucs_rcache_pred_time_t
ucs_rcache_pred_share(const ucs_rcache_pred_seat_t *seat);

/** The helper thread takes over the work only after this many seats in a row
 *  have had an idle processor, since a processor may be idle just because its
 *  program rests for a moment. The thread gives the work back to the program at
 *  once. */
#define UCS_RCACHE_PRED_MODE_VOTES 2

/**
 * Choose who shall do the helper's work, now that the process has this seat.
 *
 * @param [in]    is_short  Whether memory is short: then the thread does the work at once,
 *                       if the process has one, even without a processor of its own.
 * @param [in]    mode   Who does the work so far.
 * @param [inout] votes  How many seats in a row have had a processor for the
 *                       thread.
 */
ucs_rcache_pred_mode_t
ucs_rcache_pred_choose_mode(ucs_rcache_pred_helper_t helper,
                            const ucs_rcache_pred_seat_t *seat, int is_short,
                            ucs_rcache_pred_mode_t mode, unsigned *votes);

/** @return the least distance between the deadline of a region and that of the region
 *  before it: the time in which the helper processes one entry of each queue. */
ucs_rcache_pred_time_t
ucs_rcache_pred_spacing(const ucs_rcache_pred_times_t *times);

/**
 * @return the part of a bound on bytes that whole regions must leave free, so
 *         that transfers in pieces can go on (see pieces.c). It is 1/16 of the
 *         bound, at most 4 MiB, and at least @ref
 *         ucs_rcache_pred_pieces_reserve, but not more than half of the bound:
 *         where pages are large, the least bound has room for one piece and one
 *         region of its size. 0 if there is no bound.
 *
 * @param [in] max_bytes  The bound; UINT64_MAX: there is none.
 */
uint64_t ucs_rcache_pred_bound_reserve(uint64_t max_bytes, size_t page_size);

/**
 * Find the best size of the pieces in which a transfer of @a pages is
 * registered. With pieces of c pages, the time a c + b passes before the first
 * byte moves, and each of the pages / c pieces costs b more than if all were
 * registered at once. The sum of both is least for c = sqrt(pages b / a). Here
 * a is the cost of registering a page, and b is what a registration and a
 * deregistration cost whatever their size.
 *
 * @param [in] reg, dereg  Costs of registrations and of deregistrations.
 * @return the number of pages in a piece, 1..pages.
 */
size_t ucs_rcache_pred_piece_pages(const ucs_rcache_pred_cost_t *reg,
                                   const ucs_rcache_pred_cost_t *dereg,
                                   size_t pages);

/**
 * @return whether it pays to register a transfer in pieces of @a piece pages:
 *         the time by which the first byte moves earlier has to make up for the
 *         time by which the pieces cost more than one registration. The
 *         condition is a c + (pages / c) b <= a pages, with a and b as in @ref
 *         ucs_rcache_pred_piece_pages and c = @a piece. It never pays if there
 *         would be fewer than two pieces.
 */
int ucs_rcache_pred_pieces_pay(const ucs_rcache_pred_cost_t *reg,
                               const ucs_rcache_pred_cost_t *dereg,
                               size_t pages, size_t piece);

/*
 * What a shortage of memory makes worth spending: processes that wait for memory lose
 * time, and giving up memory that is registered may take as much. The paper has no such
 * rule: its helper gives up the same memory whether anybody needs it or not.
 */

typedef struct ucs_rcache_pred_shortage {
    double part;     /**< Part of the run time that this process may spend on giving up
                          memory besides its budget, 0 to 1 */
    double waits;    /**< Part of the time in which processes have waited of late */
    int    is_short; /**< Whether memory counts as short */
} ucs_rcache_pred_shortage_t;


/**
 * Take in how long processes have waited for memory since the last call. The part follows
 * the waits with a delay, so that the sum of what may be spent is what was waited, and
 * memory that was given up does not come back as soon as nobody waits.
 *
 * @param [in] waits    Part of the time in which processes have waited for memory.
 * @param [in] procs    How many processes give memory up, 1 or more: each may spend an equal
 *                      part of that.
 * @param [in] own      How long this process itself has waited for memory that it was about
 *                      to register, ns: the kernel had taken that memory since it was given
 *                      up, and to give up more would only add to these waits.
 * @param [in] elapsed  Time since the last call, ns.
 */
void ucs_rcache_pred_shortage_update(ucs_rcache_pred_shortage_t *shortage, double waits,
                                     unsigned procs, double own, double elapsed);

END_C_DECLS

#endif
