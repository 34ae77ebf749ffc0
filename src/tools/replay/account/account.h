/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_ACCOUNT_H_
#define PREDREG_ACCOUNT_H_

#include "ledger.h"

#include <tools/base/containers.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

BEGIN_C_DECLS

/** @file account.h
 *
 * The result of a policy in replay, and the account of uses, waits and
 * registrations that a policy keeps to get there.
 *
 * All times are times of the program under the policy, ns.
 */

/**
 * The numbers of a result, a row each: the field, the name in JSON, and the unit, COUNT
 * or NSEC. The structures of results, of sums over ranks and of a report's outcomes, and
 * the JSON of a report, get all numbers from these rows; a policy counts each number
 * where the event happens.
 */
#define PREDREG_RESULT_NUMBERS(_row) \
    _row(uses,      "uses",                  COUNT) \
    _row(hits,      "hits",                  COUNT) \
    _row(late,      "late",                  COUNT) \
    _row(early,     "early",                 COUNT) \
    _row(wasted,    "wasted",                COUNT) \
    /* Uses without a registration for lack of room; uses does not count \
     * these */ \
    _row(refused,   "refused",               COUNT) \
    /* ARENA: uses of memory registered by the arena; uses and hits count \
     * these, too */ \
    _row(answered,  "answered",              COUNT) \
    /* PREDICT, ARENA: uses of buffers that the cache has forgotten: it \
     * remembers known_regions buffers at most */ \
    _row(forgotten, "forgotten",             COUNT) \
    /* Registrations */ \
    _row(regs,      "regs",                  COUNT) \
    /* Wait of the program on the critical path */ \
    _row(waited,    "critical_path_seconds", NSEC) \
    /* Time of the helper for registrations and deregistrations */ \
    _row(helper,    "helper_seconds",        NSEC) \
    /* PREDICT: the part of the budget that is spent */ \
    _row(spent,     "budget_spent_seconds",  NSEC)

/** The declaration of a number in a structure, and its addition. */
#define PREDREG_NUMBER_FIELD(_field, ...) uint64_t _field;
#define PREDREG_NUMBER_ADD(_field, ...)   sum->_field += more->_field;


/** The part of a result that belongs to the uses of one call site. */
typedef struct predreg_replay_site {
    uint64_t caller;
    uint64_t stack;
    uint64_t uses;
    uint64_t hits;
    uint64_t late;
    uint64_t waited;       /**< On the critical path, ns */
    double   byte_seconds; /**< Bytes times the time for which memory was registered
                                for the uses: before, during and after them */
} predreg_replay_site_t;

/** An operation of the helper. */
typedef struct predreg_helper_op {
    uint64_t time;      /**< Begin, ns */
    uint64_t duration;  /**< ns */
    int      is_reg;    /**< 1: a registration, 0: a deregistration */
} predreg_helper_op_t;

typedef struct predreg_replay_result {
    unsigned              policy;    /**< predreg_replay_policy_t */
    uint64_t              bound_bytes;   /**< The bounds that the policy kept; 0: none.
                                              ARENA: bytes of the arena */
    uint64_t              bound_regions;
    predreg_sum_t         pinned;
    double                pinned_avg_bytes; /**< Average over the duration. CLAIRVOYANT
                                                 may register before time 0, and then
                                                 the average includes this time */
    PREDREG_RESULT_NUMBERS(PREDREG_NUMBER_FIELD)
    uint64_t              duration;  /**< ns */
    double                budget;    /**< PREDICT, ARENA: bound on the costs of
                                          giving up memory, part of the run
                                          time; INFINITY: no bound. Others:
                                          INFINITY */
    uint64_t              prediction_errors[UCS_RCACHE_PRED_ERROR_CLASSES];
    predreg_replay_site_t *sites;    /**< Sorted by caller, then by stack */
    unsigned              num_sites;
    predreg_helper_op_t   *helper_ops; /**< PREDICT: sorted by time */
    size_t                num_helper_ops;
} predreg_replay_result_t;


/** Note the bounds that a policy keeps; UINT64_MAX: there is none. */
void predreg_replay_result_bounds(predreg_replay_result_t *result, uint64_t max_bytes,
                                  uint64_t max_regions);

/** Free the arrays of a result. */
void predreg_replay_result_cleanup(predreg_replay_result_t *result);

/** Free the arrays of call sites and of the helper's operations. A sum over ranks does
 *  not need them. */
void predreg_replay_result_shrink(predreg_replay_result_t *result);


/** The uses of one call site so far. */
typedef struct predreg_site {
    predreg_replay_site_t sum;     /**< All fields but byte_seconds */
    unsigned __int128     byte_ns;
} predreg_site_t;

/** Call sites, by caller and stack. */
KHASH_INIT(predreg_sites, predreg_pair_t, predreg_site_t*, 1, PREDREG_PAIR_HASH,
           PREDREG_PAIR_EQUAL)

/** The account of a policy. The functions below access the fields. */
typedef struct predreg_account {
    predreg_replay_result_t *result;
    predreg_ledger_t        ledger;
    khash_t(predreg_sites)  sites;
    predreg_helper_op_t     *helper_ops;
    size_t                  num_helper_ops;
} predreg_account_t;


/** Bytes times ns. UCS's list macros cast the head of a list to the structure of the
 *  elements, as if the head were inside of one. A structure with this field must not need
 *  a higher alignment than such a head has, so the alignment of this type is lower than
 *  usual. */
typedef unsigned __int128 predreg_byte_ns_t __attribute__((aligned(8)));

/**
 * A registration from its begin to its end. For which use the memory was idle, the
 * account learns only after the idle time. The policy owns the structure, and only the
 * functions below access it.
 */
typedef struct predreg_holding {
    uint64_t          bytes;  /**< Bytes of all pages of the registered range */
    uint64_t          begin;  /**< Begin of the registration */
    uint64_t          since;  /**< Begin of the present state */
    unsigned          uses;   /**< Uses under way */
    uint8_t           state;  /**< predreg_holding_state_t */
    predreg_site_t    *site;  /**< Site of the last use that began on idle memory;
                                   NULL: there was no use yet */
    predreg_byte_ns_t unused; /**< Bytes times ns before the first use */
} predreg_holding_t;

typedef enum {
    PREDREG_HOLDING_REG,   /**< During the registration */
    PREDREG_HOLDING_IDLE,  /**< Registered, and without use */
    PREDREG_HOLDING_USED,
    PREDREG_HOLDING_DEREG  /**< During the deregistration */
} predreg_holding_state_t;


/** Open an account.
 *  @param [in] result  The account counts into this result, whose numbers are
 *                      0. */
void predreg_account_init(predreg_account_t *account,
                          predreg_replay_result_t *result);

void predreg_account_cleanup(predreg_account_t *account);

/** @return the call site of a context. */
predreg_site_t *predreg_account_site(predreg_account_t *account,
                                     const ucs_rcache_pred_context_t *context);

/** Count a use.
 *  @param [in] waited  Wait of the program at the begin, ns. */
void predreg_account_use(predreg_account_t *account, predreg_site_t *site,
                         int hit, int late, uint64_t waited);

/** Count a wait of the program, ns, for a site, if the wait is not at the begin of a
 *  use. */
void predreg_account_wait(predreg_account_t *account, predreg_site_t *site,
                          uint64_t waited);

/** Add memory that is registered from begin to end, for this cause and site, as
 *  predreg_ledger_add() does. A policy that computes the whole schedule at once
 *  calls this function; the other policies use holdings. */
void predreg_account_add(predreg_account_t *account, predreg_site_t *site,
                         int64_t begin, int64_t end, uint64_t bytes,
                         predreg_cause_t cause);

/** Add an operation of the helper: a registration, or a deregistration. */
void predreg_account_helper(predreg_account_t *account, uint64_t begin,
                            uint64_t end, int is_reg);


/** Open a holding: the registration of the pages of [address, address + length)
 *  begins, and lasts until @ref predreg_holding_registered. */
void predreg_holding_reg(predreg_account_t *account, predreg_holding_t *holding,
                         uint64_t address, uint64_t length, uint64_t now);

void predreg_holding_registered(predreg_account_t *account,
                                predreg_holding_t *holding, uint64_t now);

/** A use of the memory begins, or ends. */
void predreg_holding_use(predreg_account_t *account, predreg_holding_t *holding,
                         predreg_site_t *site, uint64_t now);
void predreg_holding_unuse(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** The deregistration begins. The memory must not be in use. */
void predreg_holding_dereg(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** Close a holding in any state, since its deregistration or the program has ended. */
void predreg_holding_close(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);


/**
 * Complete the result of an account whose holdings are all closed. The policy itself sets
 * bounds, budget and prediction_errors.
 *
 * @param [in] duration  Duration of the program under the policy, ns.
 */
void predreg_account_result(predreg_account_t *account, uint64_t duration);

END_C_DECLS

#endif
