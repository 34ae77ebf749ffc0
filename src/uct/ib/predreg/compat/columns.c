/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "compat.h"

/*
 * The table of facts about versions of UCX: a column for each range of versions with the same
 * facts, and the functions that columns share. A comment beside a fact names the file of UCX
 * that has it.
 */


/* Facts and functions that several columns share */

/* The flags of registrations that come and go with messages: the access, and perhaps that
 * errors are not logged */
#define USUAL_FLAGS (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)

/* @return whether a registration asks for more than the usual flags. The cache takes no
 * such registrations: may_pass() says how to treat them */
static int is_special(unsigned flags)
{
    return (flags & ~USUAL_FLAGS) != 0;
}

/* @return whether the only special request of a registration is that it need not pin memory:
 * the adapter pages on demand (UCX_REG_NONBLOCK_MEM_TYPES, 1.15 to 1.23) */
static int is_nonblock(unsigned flags)
{
    return (flags & ~USUAL_FLAGS) == UCT_MD_MEM_FLAG_NONBLOCK;
}

/* @return how to treat a registration that the cache does not manage. Pass it on to UCX,
 * as a pool if its memory is locked or its purpose is a pool. Keep it if it does not pin
 * the memory */
static uct_predreg_may_t may_pass(unsigned flags, uct_predreg_purpose_t purpose)
{
    if ((flags & UCT_MD_MEM_FLAG_LOCK) || (purpose == UCT_PREDREG_PURPOSE_POOL)) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return is_nonblock(flags) ? UCT_PREDREG_MAY_KEEP : UCT_PREDREG_MAY_PASS;
}

/* What may be done, by its purpose, with a registration that is not passed on to UCX. If
 * the registration fails, UCP's operation fails */
static uct_predreg_may_t may_by_purpose(uct_predreg_purpose_t purpose)
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

/* Register through UCT's second interface, which every version from 1.14 on has. The plain
 * function of these versions would come through this library again, since libuct calls the
 * second interface by its exported name */
static ucs_status_t
mem_reg_v2(const uct_predreg_real_t *real, uct_md_h md, void *address, size_t length,
           unsigned flags, uct_mem_h *memh_p)
{
    const uct_md_mem_reg_params_t params = {
        .field_mask = UCT_MD_MEM_REG_FIELD_FLAGS,
        .flags      = flags
    };

    return real->uct_md_mem_reg_v2(md, address, length, &params, memh_p);
}

/* ucp_context.c: the setting by which UCP chooses its protocols by its cost model, or
 * does not */
#define PROTO(_default_value) \
    {.name = "PROTO_ENABLE", .default_value = _default_value, .off = "n"}

/* The setting of the cache of a domain, where the domain has one */
#define RCACHE \
    { \
        .name          = "RCACHE", \
        .default_value = "try", \
        .off           = "n", \
        .kept          = UCT_PREDREG_ASIDE_CACHE_ON \
    }

/* ib_md.c, up to 1.15 */
#define REG_METHODS(_default_value) \
    { \
        .name          = "REG_METHODS", \
        .default_value = _default_value, \
        .off           = "direct", \
        .kept          = UCT_PREDREG_ASIDE_NOT_DIRECT \
    }


/*
 * 1.13 to 1.15: domains have caches of their own, and UCP does not choose its protocols by its
 * cost model.
 *
 * In 1.13 UCP does not ask for atomic operations if a buffer is registered only to move its
 * data. UCP sets HIDE_ERRORS if it can do without the registration
 * (ucp_request_memory_reg()):
 *
 *   0x368  local buffer of a send by rendezvous
 *   0x360  local buffer of a receive by rendezvous, of a put or of a get
 *   0x3e0  memory that the program maps (ucp_mem_map()); or a pool of UCP's own, such as
 *          ucp_reg_bufs (ucp_mpool_malloc()), which grows in the middle of a communication or
 *          of progress
 *   0x3e4  a pool of UCP's own, with LOCK, which UCP keeps
 */
static uct_predreg_may_t may_1_13(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (is_special(flags) || !(flags & UCT_MD_MEM_ACCESS_ALL)) {
        return may_pass(flags, purpose);
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

    return may_by_purpose(purpose);
}

static ucs_status_t
mem_reg_1_13(const uct_predreg_real_t *real, uct_md_h md, void *address, size_t length,
             unsigned flags, uct_mem_h *memh_p)
{
    return real->uct_md_mem_reg(md, address, length, flags, memh_p);
}

/*
 * In 1.14 and 1.15 the flags are those of 1.13 (ucp_request_memory_reg(), ucp_mm.c),
 * except for pools of UCP's own. Such pools ask for remote access as messages do: 0x360,
 * or 0x364 with LOCK. Only the purpose tells a pool without LOCK from a message. A handle
 * that ucp_mem_map() makes for a program without one-sided communication asks for no
 * access at all.
 */
static uct_predreg_may_t may_1_14(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (is_special(flags)) {
        return may_pass(flags, purpose);
    }

    if (purpose == UCT_PREDREG_PURPOSE_POOL) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return (flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) ? UCT_PREDREG_MAY_REFUSE :
                                                   may_by_purpose(purpose);
}

/* REG_METHODS is of ib_md.c; RCACHE is of knem_md.c, gdr_copy_md.c, rocm_copy_md.c */
static const uct_predreg_setting_t md_caches_1_13[] = {
    REG_METHODS("rcache,odp,direct"), RCACHE, {NULL}
};

static const uct_predreg_setting_t md_caches_1_15[] = {
    REG_METHODS("rcache,direct"), RCACHE, {NULL}
};

#define FACTS_1_13 \
    .proto             = PROTO("n"), \
    .hit_cost          = 180e-9 /* RCACHE_OVERHEAD of ib_md.c */

static const uct_predreg_compat_t compat_1_13 = {
    FACTS_1_13,
    .first_minor       = 13,
    .last_minor        = 13,
    .md_caches         = md_caches_1_13,
    .may               = may_1_13,
    .mem_reg           = mem_reg_1_13
};

static const uct_predreg_compat_t compat_1_14 = {
    FACTS_1_13,
    .first_minor       = 14,
    .last_minor        = 14,
    .md_caches         = md_caches_1_13,
    .may               = may_1_14,
    .mem_reg           = mem_reg_v2,
    .reg_cost_offset   = 80, /* uct_v2.h */
    .reg_cost_field    = UCS_BIT(9)
};

static const uct_predreg_compat_t compat_1_15 = {
    FACTS_1_13,
    .first_minor       = 15,
    .last_minor        = 15,
    .md_caches         = md_caches_1_15,
    .may               = may_1_14,
    .mem_reg           = mem_reg_v2,
    .reg_cost_offset   = 88, /* uct_v2.h */
    .reg_cost_field    = UCS_BIT(10)
};


/*
 * 1.16 to 1.23: only UCP has a registration cache, and UCP chooses its protocols by a cost
 * model.
 *
 * An operation asks for the access that it needs (the files of proto_*.c, rndv_*.c and
 * eager_*.c):
 *
 *   0x100  local data of a send, of a put, or of a rendezvous that the sender puts
 *   0x200  local data of a get, or of a rendezvous that the receiver gets
 *   0x368  data of a rendezvous that the receiver may get: if this fails, the message goes
 *          another way
 *   0x028  data of a rendezvous that the sender puts, at the receiver. If this fails, 1.22 and
 *          later send the message another way. Up to 1.21 it may not fail: UCP compares the
 *          length of the key, which is missing then, with the expected one (rndv_rtr.c), if
 *          UCP was built with assertions. But the message goes the same way if the sender
 *          finds nothing in the key (proto_rndv.c)
 *   0x360  a pool of UCP's own (ucp_reg_mpool_malloc()), or memory that the program maps for
 *          one-sided communication; with LOCK another pool
 *   0x000  memory that the program maps for messages alone; or, with PROTO_ENABLE=n, data of a
 *          rendezvous that the sender puts, at the receiver: if this fails, the message goes
 *          another way (rndv.c)
 *   0x008  a receive that the adapter matches (tag/offload.c)
 *
 * With PROTO_ENABLE=n the other flags of messages are those of 1.13.
 */
static uct_predreg_may_t may_1_22(unsigned flags, uct_predreg_purpose_t purpose)
{
    if (is_special(flags)) {
        return may_pass(flags, purpose);
    }

    if (purpose == UCT_PREDREG_PURPOSE_POOL) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    if ((flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) ||
        (!(flags & UCT_MD_MEM_ACCESS_ALL) && (purpose != UCT_PREDREG_PURPOSE_MAPPED))) {
        return UCT_PREDREG_MAY_REFUSE;
    }

    return may_by_purpose(purpose);
}

static uct_predreg_may_t may_1_16(unsigned flags, uct_predreg_purpose_t purpose)
{
    uct_predreg_may_t result = may_1_22(flags, purpose);

    if ((result != UCT_PREDREG_MAY_REFUSE) || !(flags & UCT_MD_MEM_ACCESS_REMOTE_PUT) ||
        (flags & UCT_MD_MEM_ACCESS_REMOTE_GET)) {
        return result;
    }

    return (purpose == UCT_PREDREG_PURPOSE_MAPPED) ? UCT_PREDREG_MUST_WHOLE :
                                                     UCT_PREDREG_MAY_KEYLESS;
}

/* rocm_copy_md.c, and from 1.18 on gdr_copy_md.c. The ib domain has no cache */
static const uct_predreg_setting_t md_caches_1_16[] = {RCACHE, {NULL}};

/* knem_md.c, cuda_ipc_md.c, rocm_ipc_md.c; gdr_copy_md.c of 1.16 and 1.17, which has a cache
 * of its own in other versions; gga_mlx5.c, from 1.18 on. rocm_copy_md.c and mm_xpmem.c have
 * caches of their own. UCP registers nothing for messages with other components, since their
 * transports need no handles. */
static const char *const kept_components_1_16[] = {
    "knem", "cuda_ipc", "rocm_ipc", "gdr_copy", NULL
};

static const char *const kept_components_1_18[] = {
    "knem", "cuda_ipc", "rocm_ipc", "gga", NULL
};

#define FACTS_1_16 \
    .ucp_cache_hides_uses   = 1, /* ucp_memh_get() of ucp_mm.inl */ \
    .md_caches              = md_caches_1_16, \
    .proto                  = PROTO("y"), \
    /* UCP_RCACHE_OVERHEAD_DEFAULT of ucp_mm.h */ \
    .hit_cost               = 50e-9, \
    /* ucp_memh_dereg() has the completion on its stack (ucp_mm.c) */ \
    .waits_for_invalidation = 1, \
    .mremap_target_offset   = 40, /* ucm.h, from 1.15 on */ \
    .tells_local            = 1, \
    .mem_reg                = mem_reg_v2, \
    .reg_cost_field         = UCS_BIT(10)

/*
 * ib_md.c. EAGAIN is transient where memory is paged on demand: the retries are meant for
 * such memory. EAGAIN is also the answer of an adapter that has no key left (mlx5: "no
 * resources"), and of the limit of the control group for RDMA, and then only a
 * deregistration helps. 7 is the default of 1.16 and 1.17.
 */
#define FACTS_1_18 \
    FACTS_1_16, \
    .reg_retry              = {.name = "REG_RETRY_CNT", .default_value = "inf", .off = "7"}, \
    .kept_components        = kept_components_1_18, \
    .reg_cost_offset        = 96 /* uct_v2.h */

static const uct_predreg_compat_t compat_1_16 = {
    FACTS_1_16,
    .first_minor            = 16,
    .last_minor             = 17,
    .kept_components        = kept_components_1_16,
    .may                    = may_1_16,
    .proto_starves_pools    = 1,
    .reg_cost_offset        = 88 /* uct_v2.h */
};

static const uct_predreg_compat_t compat_1_18 = {
    FACTS_1_18,
    .first_minor            = 18,
    .last_minor             = 21,
    .may                    = may_1_16,
    .proto_starves_pools    = 1
};

static const uct_predreg_compat_t compat_1_22 = {
    FACTS_1_18,
    .first_minor            = 22,
    .last_minor             = 23,
    .may                    = may_1_22
};


const uct_predreg_compat_t *const uct_predreg_compat_columns[] = {
    &compat_1_13,
    &compat_1_14,
    &compat_1_15,
    &compat_1_16,
    &compat_1_18,
    &compat_1_22,
    NULL
};


int uct_predreg_compat_is_of_device(const uct_md_mem_reg_params_t *params)
{
    const uint64_t known = UCT_MD_MEM_REG_FIELD_FLAGS | UCT_MD_MEM_REG_FIELD_DMABUF_FD |
                           UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET |
                           UCT_MD_MEM_REG_FIELD_MEM_TYPE;

    return !(params->field_mask & ~known) &&
           (params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) &&
           (params->flags == (unsigned)params->flags) &&
           (!is_special(params->flags) || is_nonblock(params->flags));
}
