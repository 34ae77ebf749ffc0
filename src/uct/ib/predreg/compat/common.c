/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "common.h"

#include <errno.h>
#include <string.h>


ucs_status_t
uct_predreg_compat_mem_reg_v2(const uct_predreg_real_t *real, uct_md_h md,
                              void *address, size_t length, unsigned flags,
                              uct_mem_h *memh_p)
{
    const uct_md_mem_reg_params_t params = {
        .field_mask = UCT_MD_MEM_REG_FIELD_FLAGS,
        .flags      = flags
    };

    return real->uct_md_mem_reg_v2(md, address, length, &params, memh_p);
}

ucs_status_t uct_predreg_compat_md_facts(const uct_predreg_real_t *real,
                                         uct_md_h md,
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
    facts->can_register = (attr.cap.flags & UCT_MD_FLAG_REG) &&
                          (attr.cap.flags & UCT_MD_FLAG_NEED_MEMH);
    facts->has_devices  = (attr.cap.detect_mem_types &
                           ~UCS_BIT(UCS_MEMORY_TYPE_HOST)) != 0;
    return UCS_OK;
}

/* Whether ibv_reg_mr failed for a reason that more room would not mend */
static int is_bad_memory(int error)
{
    return (error == EFAULT) || (error == EINVAL) || (error == EACCES) ||
           (error == EPERM) || (error == EOPNOTSUPP);
}

/* Errors that is_bad_memory() does not name may mean that there is no room */
ucs_status_t uct_predreg_compat_reg_error(ucs_status_t status, int error)
{
    return ((status == UCS_ERR_IO_ERROR) && !is_bad_memory(error)) ?
           UCS_ERR_NO_MEMORY : status;
}
