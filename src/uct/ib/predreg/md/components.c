/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "components.h"

#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>

#include <stdio.h>
#include <string.h>


int uct_predreg_components_are_here(const uct_predreg_core_t *core)
{
    const uct_predreg_real_t *real = &core->real;
    uct_component_attr_t attr      = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    int are_here                   = 0;
    uct_component_h *components;
    unsigned i, count;

    if (real->uct_query_components(&components, &count) != UCS_OK) {
        return 0;
    }

    for (i = 0; (i < count) && !are_here; ++i) {
        are_here = (real->uct_component_query(components[i], &attr) ==
                    UCS_OK) && (attr.md_resource_count > 0) &&
                   uct_predreg_is_managed_component(&core->knobs, attr.name);
    }

    real->uct_release_component_list(components);
    return are_here;
}

void uct_predreg_components_tell(const uct_predreg_knobs_t *knobs,
                                 ucs_string_buffer_t *strb)
{
    const ucs_config_names_array_t *chosen = &knobs->components;
    unsigned i;

    if ((chosen->count == 1) && !strcmp(chosen->names[0], "ib")) {
        ucs_string_buffer_appendf(strb, "an RDMA adapter");
        return;
    }

    ucs_string_buffer_appendf(strb, "UCX_RCACHE_PRED_COMPONENTS=");
    for (i = 0; i < chosen->count; ++i) {
        ucs_string_buffer_appendf(strb, "%s%s", (i == 0) ? "" : ",",
                                  chosen->names[i]);
    }
}

/* Whether a name is one of these components. Their names are also written to a
 * text, which they may not all fit in. */
static int is_one_of(const uct_predreg_real_t *real, const char *name,
                     const uct_component_h *components, unsigned count,
                     char *text, size_t max)
{
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    size_t length             = 0;
    int found                 = 0;
    unsigned i;

    text[0] = '\0';
    for (i = 0; i < count; ++i) {
        if (real->uct_component_query(components[i], &attr) != UCS_OK) {
            continue;
        }

        found = found || !strcmp(name, attr.name);
        if (length < max) {
            length += snprintf(text + length, max - length, "%s%s",
                               (length == 0) ? "" : ", ", attr.name);
        }
    }

    return found;
}

void uct_predreg_components_check(const uct_predreg_core_t *core)
{
    const ucs_config_names_array_t *requested = &core->knobs.components;
    const uct_predreg_real_t *real            = &core->real;
    uct_component_h *components;
    unsigned i, count;
    char text[256];

    if (!ucs_log_is_enabled(UCS_LOG_LEVEL_INFO) ||
        (real->uct_query_components(&components, &count) != UCS_OK)) {
        return;
    }

    for (i = 0; i < requested->count; ++i) {
        if (!is_one_of(real, requested->names[i], components, count, text,
                       sizeof(text))) {
            ucs_info("UCX_RCACHE_PRED_COMPONENTS: there is no component '%s' "
                     "here; there are %s", requested->names[i], text);
        }
    }

    real->uct_release_component_list(components);
}
