/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "compat.h"

#include <ucs/sys/math.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* As in ucp_context.c of UCX. With "try", UCP has a cache if UCM reports unmapped memory */
const uct_predreg_setting_t uct_predreg_ucp_cache = {
    .name          = "RCACHE_ENABLE",
    .default_value = "try",
    .off           = "n",
    .kept          = UCT_PREDREG_ASIDE_CACHE_ON
};


/* UCT's first interface for the attributes of a domain is the same in 1.13 to 1.23 */
ucs_status_t uct_predreg_compat_md_facts(const uct_predreg_real_t *real, uct_md_h md,
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

/* ib_md.c of 1.13 to 1.23: the domain returns an I/O error for all errors of ibv_reg_mr. An
 * error that is_bad_memory() does not name may mean that there is no room */
ucs_status_t uct_predreg_compat_reg_error(ucs_status_t status, int error)
{
    return ((status == UCS_ERR_IO_ERROR) && !is_bad_memory(error)) ?
           UCS_ERR_NO_MEMORY : status;
}

const uct_predreg_compat_t *uct_predreg_compat_select(unsigned major,
                                                      unsigned minor)
{
    const uct_predreg_compat_t *const *column;

    for (column = uct_predreg_compat_columns; *column != NULL; ++column) {
        if ((major == 1) && (minor >= (*column)->first_minor) &&
            (minor <= (*column)->last_minor)) {
            return *column;
        }
    }

    return NULL;
}

/* Append the versions that the library works with to the reason for not working */
static void add_accepted(char *reason, size_t max)
{
    const uct_predreg_compat_t *const *first = uct_predreg_compat_columns;
    const uct_predreg_compat_t *const *last  = first;
    size_t length                            = strlen(reason);

    while (last[1] != NULL) {
        ++last;
    }
    snprintf(reason + length, max - length, "; accepted: 1.%u to 1.%u",
             (*first)->first_minor, (*last)->last_minor);
}

/* UCT tells its version by its functions only: 1.13 is the first version that packs keys
 * through the second interface (uct_v2.h), and the last version that does not register
 * memory through this interface */
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

    return uct_predreg_compat_columns[0];
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


char *uct_predreg_ucp_settings(const uct_predreg_real_t *real,
                               const ucp_config_t *config)
{
    char *text  = NULL;
    size_t size = 0;
    FILE *stream;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return NULL;
    }

    real->ucp_config_print(config, stream, "", UCS_CONFIG_PRINT_CONFIG);
    if (fclose(stream) != 0) { /* The text is complete only now */
        free(text);
        return NULL; /* There was no memory for the text */
    }
    return text;
}

int uct_predreg_ucp_settings_find(const char *text, const char *name,
                                  char *value, size_t max)
{
    const size_t length = strlen(name);
    const char *line, *equals, *end;

    for (line = text; (line != NULL) && (*line != '\0');
         line = (*end == '\0') ? end : (end + 1)) {
        end    = line + strcspn(line, "\n");
        equals = memchr(line, '=', end - line);
        if ((equals != NULL) && ((size_t)(equals - line) >= length) &&
            !strncmp(equals - length, name, length)) {
            snprintf(value, max, "%.*s", (int)(end - equals - 1), equals + 1);
            return 1;
        }
    }

    return 0;
}

int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max)
{
    char *text = uct_predreg_ucp_settings(real, config);
    int found  = uct_predreg_ucp_settings_find(text, name, value, max);

    free(text);
    return found;
}
