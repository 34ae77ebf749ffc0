/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "compat.h"
#include "common.h"

#include <ucs/sys/math.h>

#include <stdio.h>
#include <string.h>


const uct_predreg_compat_t *const uct_predreg_compat_columns[] = {
    &uct_predreg_compat_1_13,
    &uct_predreg_compat_1_14,
    &uct_predreg_compat_1_15,
    &uct_predreg_compat_1_16,
    &uct_predreg_compat_1_18,
    &uct_predreg_compat_1_22,
    NULL
};


const uct_predreg_compat_t *uct_predreg_compat_select(unsigned major,
                                                      unsigned minor)
{
    const uct_predreg_compat_t *const *column;

    for (column = uct_predreg_compat_columns; *column != NULL; ++column) {
        if ((major == (*column)->major) && (minor >= (*column)->first_minor) &&
            (minor <= (*column)->last_minor)) {
            return *column;
        }
    }

    return NULL;
}

/* Append the versions that are accepted to a reason for not accepting one */
static void add_accepted(char *reason, size_t max)
{
    const uct_predreg_compat_t *const *first = uct_predreg_compat_columns;
    const uct_predreg_compat_t *const *last  = first;
    size_t length                            = strlen(reason);

    while (last[1] != NULL) {
        ++last;
    }
    snprintf(reason + length, max - length, "; accepted: %u.%u to %u.%u",
             (*first)->major, (*first)->first_minor, (*last)->major,
             (*last)->last_minor);
}

/* UCT tells its version by its functions only: 1.13 is the first one that packs
 * keys through the second interface, and the last one that does not register
 * through it (uct_v2.h) */
static const uct_predreg_compat_t *
find_by_functions(const uct_predreg_real_t *real, char *reason, size_t max)
{
    if (real->uct_md_mkey_pack_v2 == NULL) {
        snprintf(reason, max, "the libuct of this process is that of a UCX "
                 "older than 1.13");
        return NULL;
    }

    if (real->uct_md_mem_reg_v2 != NULL) {
        snprintf(reason, max, "this program uses UCT without UCP, which alone "
                 "tells the version of a UCX later than 1.13");
        return NULL;
    }

    return &uct_predreg_compat_1_13;
}

const uct_predreg_compat_t *
uct_predreg_compat_find(const uct_predreg_real_t *real, char *reason,
                        size_t max)
{
    const uct_predreg_compat_t *compat;
    unsigned major, minor, release;

    if (real->ucp_get_version == NULL) {
        return find_by_functions(real, reason, max);
    }

    real->ucp_get_version(&major, &minor, &release);
    compat = uct_predreg_compat_select(major, minor);
    if (compat == NULL) {
        snprintf(reason, max, "this process uses UCX %u.%u", major, minor);
        add_accepted(reason, max);
    }
    return compat;
}

int uct_predreg_compat_is_of_device(const uct_md_mem_reg_params_t *params)
{
    const uint64_t known = UCT_MD_MEM_REG_FIELD_FLAGS |
                           UCT_MD_MEM_REG_FIELD_DMABUF_FD |
                           UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET |
                           UCT_MD_MEM_REG_FIELD_MEM_TYPE;

    return !(params->field_mask & ~known) &&
           (params->field_mask & UCT_MD_MEM_REG_FIELD_FLAGS) &&
           (params->flags == (unsigned)params->flags) &&
           (!uct_predreg_compat_is_special(params->flags) ||
            uct_predreg_compat_is_nonblock(params->flags));
}

void uct_predreg_compat_copy_params(const uct_md_mem_reg_params_t *params,
                                    uct_md_mem_reg_params_t *copy)
{
    copy->field_mask    = params->field_mask;
    copy->flags         = params->flags;
    copy->dmabuf_fd     = params->dmabuf_fd;
    copy->dmabuf_offset = params->dmabuf_offset;
    copy->mem_type      = (params->field_mask & UCT_MD_MEM_REG_FIELD_MEM_TYPE) ?
                          params->mem_type : UCS_MEMORY_TYPE_HOST;
}

void uct_predreg_compat_set_reg_cost(uct_md_attr_t *attr, double cost)
{
    attr->reg_cost = ucs_linear_func_make(cost, 0);
}

void uct_predreg_compat_set_reg_cost_v2(const uct_predreg_compat_t *compat,
                                        uct_md_attr_v2_t *attr, double cost)
{
    ucs_linear_func_t *reg_cost;

    if (attr->field_mask & compat->reg_cost_field) {
        reg_cost  = UCS_PTR_BYTE_OFFSET(attr, compat->reg_cost_offset);
        *reg_cost = ucs_linear_func_make(cost, 0);
    }
}
