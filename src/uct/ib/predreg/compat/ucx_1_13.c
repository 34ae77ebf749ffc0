/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common.h"

/*
 * The facts about UCX 1.13. A comment beside a fact names the file of UCX that
 * it was taken from.
 */

/*
 * UCP does not ask for atomic operations if a buffer is registered only to move
 * its data. It sets HIDE_ERRORS if it can do without the registration
 * (ucp_request_memory_reg()):
 *
 *   0x368  local buffer of a send by rendezvous
 *   0x360  local buffer of a receive by rendezvous, of a put or of a get
 *   0x3e0  memory that the program maps (ucp_mem_map()); or a pool of UCP's
 *          own, such as ucp_reg_bufs (ucp_mpool_malloc()), which grows in the
 *          middle of a communication or of progress
 *   0x3e4  a pool of UCP's own, with LOCK, which it keeps
 */
static uct_predreg_may_t may(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (uct_predreg_compat_is_special(flags) ||
        !(flags & UCT_MD_MEM_ACCESS_ALL)) {
        return uct_predreg_compat_may_pass(flags, purpose);
    }

    if (flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) {
        return UCT_PREDREG_MAY_REFUSE;
    }

    if ((purpose == UCT_PREDREG_PURPOSE_MAPPED) ||
        (purpose == UCT_PREDREG_PURPOSE_UNKNOWN)) {
        return UCT_PREDREG_MUST_WHOLE;
    }

    if ((flags & UCT_MD_MEM_ACCESS_REMOTE_ATOMIC) ||
        (purpose == UCT_PREDREG_PURPOSE_POOL)) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return uct_predreg_compat_may_by_purpose(purpose);
}

static ucs_status_t
mem_reg(const uct_predreg_real_t *real, uct_md_h md, void *address,
        size_t length, unsigned flags, uct_mem_h *memh_p)
{
    return real->uct_md_mem_reg(md, address, length, flags, memh_p);
}

static const uct_predreg_setting_t md_caches[] = {
    /* ib_md.c */
    {
        .name          = "REG_METHODS",
        .default_value = "rcache,odp,direct",
        .off           = "direct",
        .kept          = UCT_PREDREG_ASIDE_NOT_DIRECT
    },
    /* knem_md.c, gdr_copy_md.c, rocm_copy_md.c */
    UCT_PREDREG_COMPAT_RCACHE,
    {NULL}
};

const uct_predreg_compat_t uct_predreg_compat_1_13 = {
    .major             = 1,
    .first_minor       = 13,
    .last_minor        = 13,
    /* ucp_context.c */
    .ucp_cache         = UCT_PREDREG_COMPAT_UCP_CACHE,
    .md_caches         = md_caches,
    /* ucp_context.c */
    .proto             = {
        .name          = "PROTO_ENABLE",
        .default_value = "n",
        .off           = "n"
    },
    .hit_cost          = 180e-9, /* RCACHE_OVERHEAD of ib_md.c */
    .quiet_flag        = UCT_MD_MEM_FLAG_HIDE_ERRORS,
    .vm_event_priority = UCT_PREDREG_COMPAT_VM_EVENT_PRIORITY,
    .may               = may,
    .md_facts          = uct_predreg_compat_md_facts,
    .mem_reg           = mem_reg,
    .reg_error         = uct_predreg_compat_reg_error
};
