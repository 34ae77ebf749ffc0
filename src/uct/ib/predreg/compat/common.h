/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMMON_H_
#define UCT_PREDREG_COMMON_H_

#include "compat.h"

/** @file common.h
 *
 * The columns of the table of facts about versions of UCX, each defined in the file of
 * its name, and facts that are the same in several of them. Only compat.c and the files
 * of the columns use this.
 */

extern const uct_predreg_compat_t uct_predreg_compat_1_13;
extern const uct_predreg_compat_t uct_predreg_compat_1_14;
extern const uct_predreg_compat_t uct_predreg_compat_1_15;
extern const uct_predreg_compat_t uct_predreg_compat_1_16;
extern const uct_predreg_compat_t uct_predreg_compat_1_18;
extern const uct_predreg_compat_t uct_predreg_compat_1_22;

/* Setting of the cache of UCP, ucp_context.c of 1.13 to 1.23. "try" switches it
 * on where memory events are available. */
#define UCT_PREDREG_COMPAT_UCP_CACHE \
    { \
        .name          = "RCACHE_ENABLE", \
        .default_value = "try", \
        .off           = "n", \
        .kept          = UCT_PREDREG_ASIDE_CACHE_ON \
    }

/* Setting of the cache of a domain, where one has that */
#define UCT_PREDREG_COMPAT_RCACHE \
    { \
        .name          = "RCACHE", \
        .default_value = "try", \
        .off           = "n", \
        .kept          = UCT_PREDREG_ASIDE_CACHE_ON \
    }

/* UCX's own handlers of memory events have 1000 and below, in 1.13 to 1.23 */
#define UCT_PREDREG_COMPAT_VM_EVENT_PRIORITY 1500


/** What registrations that come and go with messages ask for: access, and perhaps
 *  that errors are not logged. */
#define UCT_PREDREG_COMPAT_USUAL_FLAGS \
    (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)

/** @return whether a registration asks for something special, for which it is
 *          passed on. */
static inline int uct_predreg_compat_is_special(unsigned flags)
{
    return (flags & ~UCT_PREDREG_COMPAT_USUAL_FLAGS) != 0;
}

/** @return whether all that is special of it is that it need not pin memory: the
 *          adapter pages on demand (UCX_REG_NONBLOCK_MEM_TYPES, 1.15 to 1.23). */
static inline int uct_predreg_compat_is_nonblock(unsigned flags)
{
    return (flags & ~UCT_PREDREG_COMPAT_USUAL_FLAGS) == UCT_MD_MEM_FLAG_NONBLOCK;
}

/** @return which kind of passing on is meant for a registration. What is locked
 *          is a pool that UCX keeps. What is registered without pinning it is kept
 *          instead. */
static inline uct_predreg_may_t
uct_predreg_compat_may_pass(unsigned flags, uct_predreg_purpose_t purpose)
{
    if ((flags & UCT_MD_MEM_FLAG_LOCK) ||
        (purpose == UCT_PREDREG_PURPOSE_POOL)) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return uct_predreg_compat_is_nonblock(flags) ? UCT_PREDREG_MAY_KEEP :
                                                   UCT_PREDREG_MAY_PASS;
}

/** What may be done with a registration that is not passed on and whose failure
 *  fails the operation, by its purpose. */
static inline uct_predreg_may_t
uct_predreg_compat_may_by_purpose(uct_predreg_purpose_t purpose)
{
    switch (purpose) {
    case UCT_PREDREG_PURPOSE_MESSAGE:
        return UCT_PREDREG_MAY_PIECES;
    case UCT_PREDREG_PURPOSE_SEND:
    case UCT_PREDREG_PURPOSE_ONE_SIDED:
        return UCT_PREDREG_MAY_LAST_RESORT;
    default:
        return UCT_PREDREG_MUST_WHOLE;
    }
}

/** Register through UCT's second interface, which every version from 1.14 on
 *  has. The plain function of these versions would come through this library
 *  again, since libuct calls the second interface by its exported name. */
ucs_status_t
uct_predreg_compat_mem_reg_v2(const uct_predreg_real_t *real, uct_md_h md,
                              void *address, size_t length, unsigned flags,
                              uct_mem_h *memh_p);

/** Ask a domain about itself through UCT's first interface, which is the same in
 *  1.13 to 1.23. */
ucs_status_t uct_predreg_compat_md_facts(const uct_predreg_real_t *real,
                                         uct_md_h md,
                                         uct_predreg_md_facts_t *facts);

/** What a failed registration means, ib_md.c of 1.13 to 1.23: the domain returns
 *  an I/O error for all errors of ibv_reg_mr. */
ucs_status_t uct_predreg_compat_reg_error(ucs_status_t status, int error);

#endif
