/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common.h"

/*
 * The facts about UCX 1.14 and 1.15: memory is registered through UCT's second
 * interface; the domain has a registration cache of its own, as in 1.13, and UCP
 * chooses its protocols as in 1.13. A comment beside a fact names the file of
 * UCX that it was taken from.
 */


/*
 * The flags are those of 1.13 (ucp_request_memory_reg(), ucp_mm.c), but for
 * pools of UCP's own, which ask for remote access as messages do: 0x360, and
 * 0x364 if they are locked. Those that are not locked are told by their purpose.
 * A handle that ucp_mem_map() makes for a program without one-sided
 * communication asks for no access at all.
 */
static uct_predreg_may_t may(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (uct_predreg_compat_is_special(flags)) {
        return uct_predreg_compat_may_pass(flags, purpose);
    }

    if (purpose == UCT_PREDREG_PURPOSE_POOL) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return (flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) ?
           UCT_PREDREG_MAY_REFUSE : uct_predreg_compat_may_by_purpose(purpose);
}

/* ib_md.c */
#define REG_METHODS(_default_value) \
    { \
        .name          = "REG_METHODS", \
        .default_value = _default_value, \
        .off           = "direct", \
        .kept          = UCT_PREDREG_ASIDE_NOT_DIRECT \
    }

/* Besides ib_md.c: knem_md.c, gdr_copy_md.c, rocm_copy_md.c */
static const uct_predreg_setting_t md_caches_1_14[] = {
    REG_METHODS("rcache,odp,direct"),
    UCT_PREDREG_COMPAT_RCACHE,
    {NULL}
};

static const uct_predreg_setting_t md_caches_1_15[] = {
    REG_METHODS("rcache,direct"),
    UCT_PREDREG_COMPAT_RCACHE,
    {NULL}
};

/* What is the same in both columns */
#define FACTS \
    .major             = 1, \
    .ucp_cache         = UCT_PREDREG_COMPAT_UCP_CACHE, \
    .proto             = { /* ucp_context.c */ \
        .name          = "PROTO_ENABLE", \
        .default_value = "n", \
        .off           = "n" \
    }, \
    .hit_cost          = 180e-9, /* RCACHE_OVERHEAD of ib_md.c */ \
    .quiet_flag        = UCT_MD_MEM_FLAG_HIDE_ERRORS, \
    .vm_event_priority = UCT_PREDREG_COMPAT_VM_EVENT_PRIORITY, \
    .may               = may, \
    .md_facts          = uct_predreg_compat_md_facts, \
    .mem_reg           = uct_predreg_compat_mem_reg_v2, \
    .reg_error         = uct_predreg_compat_reg_error

const uct_predreg_compat_t uct_predreg_compat_1_14 = {
    FACTS,
    .first_minor       = 14,
    .last_minor        = 14,
    .md_caches         = md_caches_1_14,
    .reg_cost_offset   = 80, /* uct_v2.h */
    .reg_cost_field    = UCS_BIT(9)
};

const uct_predreg_compat_t uct_predreg_compat_1_15 = {
    FACTS,
    .first_minor       = 15,
    .last_minor        = 15,
    .md_caches         = md_caches_1_15,
    .reg_cost_offset   = 88, /* uct_v2.h */
    .reg_cost_field    = UCS_BIT(10)
};
