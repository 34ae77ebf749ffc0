/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common.h"

/*
 * The facts about UCX 1.16 to 1.23: only UCP has a registration cache, and it
 * chooses its protocols by a cost model. A comment beside a fact names the file
 * of UCX that it was taken from.
 */


/*
 * An operation asks for the access that it needs (the files of proto_*.c,
 * rndv_*.c and eager_*.c):
 *
 *   0x100  local data of a send, of a put, or of a rendezvous that the sender
 *          puts
 *   0x200  local data of a get, or of a rendezvous that the receiver gets
 *   0x368  data of a rendezvous that the receiver may get: if this fails, the
 *          message goes another way
 *   0x028  data of a rendezvous that the sender puts, at the receiver. If this
 *          fails, 1.22 and later send the message another way. Up to 1.21 it may
 *          not fail: UCP compares the length of the key, which is missing then,
 *          with the expected one (rndv_rtr.c), if it was built with assertions.
 *          But the message goes the same way if the sender finds nothing in the
 *          key (proto_rndv.c)
 *   0x360  a pool of UCP's own (ucp_reg_mpool_malloc()), or memory that the
 *          program maps for one-sided communication; with LOCK another pool
 *   0x000  memory that the program maps for messages alone; or, with
 *          PROTO_ENABLE=n, data of a rendezvous that the sender puts, at the
 *          receiver: if this fails, the message goes another way (rndv.c)
 *   0x008  a receive that the adapter matches (tag/offload.c)
 *
 * With PROTO_ENABLE=n the other flags of messages are those of 1.13.
 */
static uct_predreg_may_t
may_1_22(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (uct_predreg_compat_is_special(flags)) {
        return uct_predreg_compat_may_pass(flags, purpose);
    }

    if (purpose == UCT_PREDREG_PURPOSE_POOL) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    if ((flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) ||
        (!(flags & UCT_MD_MEM_ACCESS_ALL) &&
         (purpose != UCT_PREDREG_PURPOSE_MAPPED))) {
        return UCT_PREDREG_MAY_REFUSE;
    }

    return uct_predreg_compat_may_by_purpose(purpose);
}

static uct_predreg_may_t may(unsigned flags, uct_predreg_purpose_t purpose)
{
    uct_predreg_may_t result = may_1_22(flags, purpose);

    if ((result != UCT_PREDREG_MAY_REFUSE) ||
        !(flags & UCT_MD_MEM_ACCESS_REMOTE_PUT) ||
        (flags & UCT_MD_MEM_ACCESS_REMOTE_GET)) {
        return result;
    }

    return (purpose == UCT_PREDREG_PURPOSE_MAPPED) ? UCT_PREDREG_MUST_WHOLE :
                                                     UCT_PREDREG_MAY_KEYLESS;
}

/* rocm_copy_md.c, and from 1.18 on gdr_copy_md.c. The ib domain has none */
static const uct_predreg_setting_t md_caches[] = {
    UCT_PREDREG_COMPAT_RCACHE,
    {NULL}
};

/* knem_md.c, cuda_ipc_md.c, rocm_ipc_md.c; gdr_copy_md.c of 1.16 and 1.17, which has
 * a cache of its own in other versions; gga_mlx5.c, from 1.18 on. rocm_copy_md.c
 * and mm_xpmem.c have caches of their own. UCP registers nothing for messages with
 * other components, since their transports need no handles. */
static const char *const kept_components_1_16[] = {
    "knem", "cuda_ipc", "rocm_ipc", "gdr_copy", NULL
};

static const char *const kept_components[] = {
    "knem", "cuda_ipc", "rocm_ipc", "gga", NULL
};

/*
 * ib_md.c. EAGAIN is transient where memory is paged on demand, which this is meant for. It
 * is also the answer of an adapter that has no key left (mlx5: "no resources"), and of the
 * limit of the control group for RDMA, and then only a deregistration helps. 7 is the default
 * of 1.16 and 1.17.
 */
#define REG_RETRY {.name = "REG_RETRY_CNT", .default_value = "inf", .off = "7"}

/* What is the same in all columns */
#define FACTS \
    .major                  = 1, \
    .ucp_cache              = UCT_PREDREG_COMPAT_UCP_CACHE, \
    .ucp_cache_hides_uses   = 1, /* ucp_memh_get() of ucp_mm.inl */ \
    .md_caches              = md_caches, \
    .proto                  = { /* ucp_context.c */ \
        .name          = "PROTO_ENABLE", \
        .default_value = "y", \
        .off           = "n" \
    }, \
    /* UCP_RCACHE_OVERHEAD_DEFAULT of ucp_mm.h */ \
    .hit_cost               = 50e-9, \
    /* ucp_memh_dereg() has it on the stack (ucp_mm.c) */ \
    .waits_for_invalidation = 1, \
    .quiet_flag             = UCT_MD_MEM_FLAG_HIDE_ERRORS, \
    .vm_event_priority      = UCT_PREDREG_COMPAT_VM_EVENT_PRIORITY, \
    .mremap_target_offset   = 40, /* ucm.h, from 1.15 on */ \
    .tells_local            = 1, \
    .md_facts               = uct_predreg_compat_md_facts, \
    .mem_reg                = uct_predreg_compat_mem_reg_v2, \
    .reg_error              = uct_predreg_compat_reg_error

const uct_predreg_compat_t uct_predreg_compat_1_16 = {
    FACTS,
    .first_minor            = 16,
    .last_minor             = 17,
    .kept_components        = kept_components_1_16,
    .may                    = may,
    .proto_starves_pools    = 1,
    .reg_cost_offset        = 88, /* uct_v2.h */
    .reg_cost_field         = UCS_BIT(10)
};

const uct_predreg_compat_t uct_predreg_compat_1_18 = {
    FACTS,
    .reg_retry              = REG_RETRY,
    .first_minor            = 18,
    .last_minor             = 21,
    .kept_components        = kept_components,
    .may                    = may,
    .proto_starves_pools    = 1,
    .reg_cost_offset        = 96, /* uct_v2.h */
    .reg_cost_field         = UCS_BIT(10)
};

const uct_predreg_compat_t uct_predreg_compat_1_22 = {
    FACTS,
    .reg_retry              = REG_RETRY,
    .first_minor            = 22,
    .last_minor             = 23,
    .kept_components        = kept_components,
    .may                    = may_1_22,
    .reg_cost_offset        = 96, /* uct_v2.h */
    .reg_cost_field         = UCS_BIT(10)
};
