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
 * What a policy did, as it is replayed: uses, waits, and registrations from
 * their begin to their end. It becomes the result.
 *
 * Times are those of the program under the policy, ns.
 */

typedef struct predreg_account predreg_account_t;


/** What is known so far of the uses from one call site. */
typedef struct predreg_site {
    predreg_replay_site_t sum;     /**< All but byte_seconds */
    unsigned __int128     byte_ns;
} predreg_site_t;


/** byte * ns. Aligned no more than other numbers are: a structure that has a
 *  holding can then be found from a list's head, which is aligned like that. */
typedef unsigned __int128 predreg_byte_ns_t __attribute__((aligned(8)));

/**
 * A registration from its begin to its end: its memory is registered, used,
 * idle, used again, and deregistered. What it was idle for is only known
 * afterwards. The policy owns the structure, and only the functions below look
 * into it.
 */
typedef struct predreg_holding {
    uint64_t          bytes;    /**< Whole pages */
    uint64_t          since;    /**< It has been in its state since then */
    unsigned          uses;     /**< Under way */
    uint8_t           state;    /**< predreg_holding_state_t */
    predreg_site_t    *site;    /**< Of the last use; NULL: it was not used
                                     yet */
    predreg_byte_ns_t unused;   /**< What it came to until its first use */
} predreg_holding_t;

typedef enum {
    PREDREG_HOLDING_REG,   /**< Being registered */
    PREDREG_HOLDING_IDLE,  /**< Registered, and not used */
    PREDREG_HOLDING_USED,
    PREDREG_HOLDING_DEREG  /**< Being deregistered */
} predreg_holding_state_t;


ucs_status_t predreg_account_create(predreg_account_t **account_p);
void predreg_account_destroy(predreg_account_t *account);

/** @return the call site of a context, never NULL. If there is no memory for
 *          it, asking for the result fails. */
predreg_site_t *predreg_account_site(predreg_account_t *account,
                                     const ucs_rcache_pred_context_t *context);

/** Count a use.
 *  @param [in] waited  How long the program waited at its begin, ns. */
void predreg_account_use(predreg_account_t *account, predreg_site_t *site,
                         int hit, int late, uint64_t waited);

/** Count a use that was refused: for lack of room it went without a
 *  registration. */
void predreg_account_refused(predreg_account_t *account, predreg_site_t *site,
                             uint64_t waited);

/** Count time that the program waited for the sake of a site, but not at the
 *  begin of a use, ns. */
void predreg_account_wait(predreg_account_t *account, predreg_site_t *site,
                          uint64_t waited);

/** Memory was registered from begin to end, for this cause and for the sake of
 *  a site; see @ref predreg_ledger_add. For policies that know the whole
 *  schedule at once. Others have holdings. */
void predreg_account_add(predreg_account_t *account, predreg_site_t *site,
                         int64_t begin, int64_t end, uint64_t bytes,
                         predreg_cause_t cause);

/** The helper is busy with a registration, or a deregistration, from begin to
 *  end. */
void predreg_account_helper(predreg_account_t *account, uint64_t begin,
                            uint64_t end, int is_reg);


/** Memory that holds [address, address + length) is registered from now on;
 *  registering it takes until @ref predreg_holding_registered. */
void predreg_holding_reg(predreg_account_t *account, predreg_holding_t *holding,
                         uint64_t address, uint64_t length, uint64_t now);

void predreg_holding_registered(predreg_account_t *account,
                                predreg_holding_t *holding, uint64_t now);

/** A use begins, or one of those under way ends. */
void predreg_holding_use(predreg_account_t *account, predreg_holding_t *holding,
                         predreg_site_t *site, uint64_t now);
void predreg_holding_unuse(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** Deregistration begins. Not while it is used. */
void predreg_holding_dereg(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);

/** The memory is not registered any more; or the program is over, whatever
 *  state this is in. */
void predreg_holding_close(predreg_account_t *account,
                           predreg_holding_t *holding, uint64_t now);


/**
 * Make the result of all that was told: the fields pinned, pinned_avg_bytes,
 * uses, hits, late, refused, regs, waited, duration, sites and num_sites. All
 * holdings must be closed.
 *
 * @param [in] duration  Of the program, ns.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_account_result(predreg_account_t *account,
                                    uint64_t duration,
                                    predreg_replay_result_t *result);

END_C_DECLS

#endif
