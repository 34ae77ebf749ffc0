/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_ACCOUNT_H_
#define PREDREG_ACCOUNT_H_

#include "result.h"

BEGIN_C_DECLS

/** @file account.h
 *
 * Keeps account of what a policy does while it is replayed: uses, waits, and
 * registrations from their begin to their end. The result is made of it.
 *
 * All times are those of the program under the policy, ns.
 */

typedef struct predreg_account predreg_account_t;


/** What is known so far of the uses from one call site. */
typedef struct predreg_site {
    predreg_replay_site_t sum;     /**< All fields but byte_seconds */
    unsigned __int128     byte_ns;
} predreg_site_t;


/** Bytes times ns. The alignment is lowered to that of other numbers, because a
 *  loop over a list treats the list's head as if it were inside of a structure,
 *  and the head is aligned to 8 only. */
typedef unsigned __int128 predreg_byte_ns_t __attribute__((aligned(8)));

/**
 * A registration from its begin to its end: memory is registered, used, idle,
 * used again, and deregistered. Only afterwards it is known which use the
 * memory was idle for. The policy owns the structure, but only the functions
 * below read and write it.
 */
typedef struct predreg_holding {
    uint64_t          bytes;    /**< Bytes of its pages */
    uint64_t          begin;    /**< When its registration began */
    uint64_t          since;    /**< When its present state began */
    unsigned          uses;     /**< How many uses of it are under way */
    uint8_t           state;    /**< predreg_holding_state_t */
    predreg_site_t    *site;    /**< Site of its last use; NULL: it was not used
                                     yet */
    predreg_byte_ns_t unused;   /**< Its memory over time until its first use */
} predreg_holding_t;

typedef enum {
    PREDREG_HOLDING_REG,   /**< Being registered */
    PREDREG_HOLDING_IDLE,  /**< Registered, and not used */
    PREDREG_HOLDING_USED,
    PREDREG_HOLDING_DEREG  /**< Being deregistered */
} predreg_holding_state_t;


ucs_status_t predreg_account_create(predreg_account_t **account_p);
void predreg_account_destroy(predreg_account_t *account);

/** @return the call site of a context. It is never NULL: if there is no memory
 *  for the site, predreg_account_result() fails later. */
predreg_site_t *predreg_account_site(predreg_account_t *account,
                                     const ucs_rcache_pred_context_t *context);

/** Count a use.
 *  @param [in] waited  How long the program waited at its begin, ns. */
void predreg_account_use(predreg_account_t *account, predreg_site_t *site,
                         int hit, int late, uint64_t waited);

/** Count a use that was refused, and went without a registration for lack of
 *  room. */
void predreg_account_refused(predreg_account_t *account, predreg_site_t *site,
                             uint64_t waited);

/** Count time that the program waited for the sake of a site at another point
 *  than the begin of a use, ns. */
void predreg_account_wait(predreg_account_t *account, predreg_site_t *site,
                          uint64_t waited);

/** Add memory that was registered from begin to end, for this cause and for the
 *  sake of a site; see @ref predreg_ledger_add. Policies that know the whole
 *  schedule at once use this function; the others use holdings. */
void predreg_account_add(predreg_account_t *account, predreg_site_t *site,
                         int64_t begin, int64_t end, uint64_t bytes,
                         predreg_cause_t cause);

/** Add an operation of the helper, which is busy with a registration, or a
 *  deregistration, from begin to end. */
void predreg_account_helper(predreg_account_t *account, uint64_t begin,
                            uint64_t end, int is_reg);


/** Open a holding: the pages of [address, address + length) are being
 *  registered from now on, until @ref predreg_holding_registered is called. */
void predreg_holding_reg(predreg_account_t *account, predreg_holding_t *holding,
                         uint64_t address, uint64_t length, uint64_t now);

void predreg_holding_registered(predreg_account_t *account,
                                predreg_holding_t *holding, uint64_t now);

/** Note that a use of the memory begins, or that a use that is under way
 *  ends. */
void predreg_holding_use(predreg_account_t *account, predreg_holding_t *holding,
                         predreg_site_t *site, uint64_t now);
void predreg_holding_unuse(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** Note that the deregistration begins. The memory must not be in use. */
void predreg_holding_dereg(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** Close a holding, because its memory is not registered any more, or because
 *  the program is over. In the second case the holding may be in any state. */
void predreg_holding_close(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);


/**
 * Make the result of all that was added: its fields pinned, pinned_avg_bytes,
 * uses, hits, late, refused, regs, waited, duration, sites and num_sites. All
 * holdings must be closed.
 *
 * @param [in] duration  Duration of the program under the policy, ns.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_account_result(predreg_account_t *account,
                                    uint64_t duration,
                                    predreg_replay_result_t *result);

END_C_DECLS

#endif
