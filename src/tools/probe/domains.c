/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "domains.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* Switch a cache of the domain off, as the library does: registrations are to
 * be seen, not what a cache remembers of them */
static void cache_off(const predreg_probe_ucx_t *ucx, uct_md_config_t *config)
{
    const uct_predreg_setting_t *setting;
    char value[64];

    for (setting = ucx->compat->md_caches; setting->name != NULL; ++setting) {
        if (ucx->real.uct_config_get(config, setting->name, value,
                                     sizeof(value)) == UCS_OK) {
            ucx->real.uct_config_modify(config, setting->name, setting->off);
            break;
        }
    }
}

static void say_domain(const predreg_probe_ucx_t *ucx, uct_md_h md,
                       const char *component, const char *name,
                       predreg_probe_measure_t measure)
{
    uct_md_attr_t attr;
    ucs_status_t status;
    int registers, needs;

    status = ucx->real.uct_md_query(md, &attr);
    if (status != UCS_OK) {
        predreg_say("unopened %s %s %s", component, name,
                    predreg_probe_text(ucx, status));
        return;
    }

    registers = (attr.cap.flags & UCT_MD_FLAG_REG) != 0;
    needs     = (attr.cap.flags & UCT_MD_FLAG_NEED_MEMH) != 0;
    predreg_say("domain %s %s %d %d", component, name, registers, needs);
    if (registers && needs && (measure != NULL)) {
        predreg_say("stage registering memory with %s", name);
        measure(ucx, md);
    }
}

static void probe_domain(const predreg_probe_ucx_t *ucx,
                         uct_component_h component, const char *component_name,
                         const char *name, predreg_probe_measure_t measure)
{
    uct_md_config_t *config;
    ucs_status_t status;
    uct_md_h md;

    predreg_say("stage opening the memory domain %s", name);
    status = ucx->uct_md_config_read(component, NULL, NULL, &config);
    if (status != UCS_OK) {
        goto err;
    }

    if (measure != NULL) {
        cache_off(ucx, config);
    }

    status = ucx->uct_md_open(component, name, config, &md);
    ucx->uct_config_release(config);
    if (status != UCS_OK) {
        goto err;
    }

    say_domain(ucx, md, component_name, name, measure);
    predreg_say("stage closing the memory domain %s", name);
    ucx->uct_md_close(md);
    return;

err:
    predreg_say("unopened %s %s %s", component_name, name,
                predreg_probe_text(ucx, status));
}

static void probe_component(const predreg_probe_ucx_t *ucx,
                            uct_component_h component, const char *components,
                            predreg_probe_measure_t measure)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    unsigned i;

    if ((ucx->real.uct_component_query(component, &attr) != UCS_OK) ||
        (attr.md_resource_count == 0)) {
        return;
    }

    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = calloc(attr.md_resource_count,
                               sizeof(*attr.md_resources));
    if ((attr.md_resources != NULL) &&
        (ucx->real.uct_component_query(component, &attr) == UCS_OK)) {
        for (i = 0; i < attr.md_resource_count; ++i) {
            probe_domain(ucx, component, attr.name,
                         attr.md_resources[i].md_name,
                         predreg_probe_is_listed(components, attr.name) ?
                         measure : NULL);
        }
    }
    free(attr.md_resources);
}

void predreg_probe_domains(const predreg_probe_ucx_t *ucx,
                           const char *components,
                           predreg_probe_measure_t measure)
{
    uct_component_h *list;
    ucs_status_t status;
    unsigned i, count;

    predreg_say("stage asking UCX for its components");
    status = ucx->real.uct_query_components(&list, &count);
    if (status != UCS_OK) {
        predreg_say("error UCX has no list of its components: %s",
                    predreg_probe_text(ucx, status));
        return;
    }

    for (i = 0; i < count; ++i) {
        probe_component(ucx, list[i], components, measure);
    }
    ucx->real.uct_release_component_list(list);
}
