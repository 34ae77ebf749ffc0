/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * For programs that use a memory domain of UCT themselves.
 */

#ifndef TEST_APPS_DOMAIN_H_
#define TEST_APPS_DOMAIN_H_

#include <uct/api/uct.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(_cond) \
    if (!(_cond)) { \
        fprintf(stderr, "line %d: %s is not so\n", __LINE__, #_cond); \
        exit(1); \
    }


/* The first memory domain of a component, without a cache of its own */
static inline uct_md_h app_open_domain(const char *component)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    uct_component_h *components;
    uct_md_config_t *config;
    unsigned num, i;
    uct_md_h md;

    CHECK(uct_query_components(&components, &num) == UCS_OK);
    for (i = 0; i < num; ++i) {
        CHECK(uct_component_query(components[i], &attr) == UCS_OK);
        if (!strcmp(attr.name, component) && (attr.md_resource_count > 0)) {
            break;
        }
    }
    if (i == num) {
        fprintf(stderr, "there is no memory domain of %s\n", component);
        exit(77);
    }

    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = calloc(attr.md_resource_count,
                               sizeof(*attr.md_resources));
    CHECK(uct_component_query(components[i], &attr) == UCS_OK);
    CHECK(uct_md_config_read(components[i], NULL, NULL, &config) == UCS_OK);
    /* Domains of UCX 1.16 and later have no such setting */
    (void)uct_config_modify(config, "RCACHE", "n");
    CHECK(uct_md_open(components[i], attr.md_resources[0].md_name, config,
                      &md) == UCS_OK);
    uct_config_release(config);
    uct_release_component_list(components);
    free(attr.md_resources);
    return md;
}

#endif
