/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "columns.h"

#include <ucs/sys/math.h>

#include <errno.h>
#include <string.h>

/*
 * The facts about UCX 1.13. A comment beside a fact names the file of UCX that
 * it was taken from.
 */

/* Flags of registrations that come and go with messages. A registration with
 * any other flag asks for something special, and is passed on. */
#define MANAGED_FLAGS (UCT_MD_MEM_ACCESS_ALL | UCT_MD_MEM_FLAG_HIDE_ERRORS)


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
    if ((flags & ~MANAGED_FLAGS) || !(flags & UCT_MD_MEM_ACCESS_ALL)) {
        return (flags & UCT_MD_MEM_FLAG_LOCK) ? UCT_PREDREG_MAY_PASS_POOL :
                                                UCT_PREDREG_MAY_PASS;
    }

    if (flags & UCT_MD_MEM_FLAG_HIDE_ERRORS) {
        return UCT_PREDREG_MAY_REFUSE;
    }

    if ((purpose == UCT_PREDREG_PURPOSE_MAPPED) ||
        (purpose == UCT_PREDREG_PURPOSE_UNKNOWN)) {
        return UCT_PREDREG_MUST_WHOLE;
    }

    if (flags & UCT_MD_MEM_ACCESS_REMOTE_ATOMIC) {
        return UCT_PREDREG_MAY_PASS_POOL;
    }

    return (purpose == UCT_PREDREG_PURPOSE_MESSAGE) ?
           UCT_PREDREG_MAY_PIECES : UCT_PREDREG_MAY_LAST_RESORT;
}

static ucs_status_t md_facts(const uct_predreg_real_t *real, uct_md_h md,
                             uct_predreg_md_facts_t *facts)
{
    uct_md_attr_t attr;
    ucs_status_t status;

    status = real->uct_md_query(md, &attr);
    if (status != UCS_OK) {
        return status;
    }

    UCS_STATIC_ASSERT(sizeof(facts->component) == sizeof(attr.component_name));
    memcpy(facts->component, attr.component_name, sizeof(facts->component));
    facts->can_register      = (attr.cap.flags & UCT_MD_FLAG_REG) != 0;
    facts->registers_devices = (attr.cap.reg_mem_types &
                                ~UCS_BIT(UCS_MEMORY_TYPE_HOST)) != 0;
    facts->has_devices       = (attr.cap.detect_mem_types &
                                ~UCS_BIT(UCS_MEMORY_TYPE_HOST)) != 0;
    return UCS_OK;
}

static void set_reg_cost(uct_md_attr_t *attr, double cost)
{
    attr->reg_cost = ucs_linear_func_make(cost, 0);
}

/* Whether ibv_reg_mr failed for a reason that more room would not mend */
static int is_bad_memory(int error)
{
    return (error == EFAULT) || (error == EINVAL) || (error == EACCES) ||
           (error == EPERM) || (error == EOPNOTSUPP);
}

/* What a failed registration means. The domain returns an I/O error for all
 * errors of ibv_reg_mr (ib_md.c); those that is_bad_memory() does not name may
 * mean that there is no room. */
static ucs_status_t reg_error(ucs_status_t status, int error)
{
    return ((status == UCS_ERR_IO_ERROR) && !is_bad_memory(error)) ?
           UCS_ERR_NO_MEMORY : status;
}

static const uct_predreg_setting_t md_caches[] = {
    /* ib_md.c */
    {
        .name          = "REG_METHODS",
        .default_value = "rcache,odp,direct",
        .off           = "direct",
        .kept          = "chooses other than direct registration"
    },
    /* knem_md.c, gdr_copy_md.c, rocm_copy_md.c */
    {
        .name          = "RCACHE",
        .default_value = "try",
        .off           = "n",
        .kept          = "keeps UCX's own cache on"
    },
    {NULL}
};

const uct_predreg_compat_t uct_predreg_compat_1_13 = {
    .major             = 1,
    .first_minor       = 13,
    .last_minor        = 13,
    /* uct_v2.h */
    .uct_has           = "uct_md_mkey_pack_v2",
    .uct_lacks         = "uct_md_mem_reg_v2",
    /* ucp_context.c. "try" switches it on where memory events are available. */
    .ucp_cache         = {
        .name          = "RCACHE_ENABLE",
        .default_value = "try",
        .off           = "n",
        .kept          = "keeps UCX's own cache on"
    },
    .md_caches         = md_caches,
    /* ucp_context.c */
    .proto             = {
        .name          = "PROTO_ENABLE",
        .default_value = "n",
        .off           = "n"
    },
    .hit_cost          = 180e-9, /* RCACHE_OVERHEAD of ib_md.c */
    .quiet_flag        = UCT_MD_MEM_FLAG_HIDE_ERRORS,
    .vm_event_priority = 1500,   /* UCX's own handlers have 1000 and below */
    .may               = may,
    .md_facts          = md_facts,
    .set_reg_cost      = set_reg_cost,
    .reg_error         = reg_error
};
