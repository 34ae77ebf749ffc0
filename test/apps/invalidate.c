/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Invalidating deregistration on a real memory domain: the completion comes
 * when the last use of the region has ended and the kernel's count of pinned
 * memory has gone down, not before; and the buffer's next registration is a new
 * one.
 */

#include "../../src/uct/ib/predreg/compat/ucx_api.h"

#include <uct/api/uct.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH (8 * 1024 * 1024)
#define FLAGS  UCT_MD_MEM_ACCESS_RMA

#define CHECK(_cond) \
    if (!(_cond)) { \
        fprintf(stderr, "line %d: %s is not so\n", __LINE__, #_cond); \
        exit(1); \
    }

static int completed;


static void done(uct_completion_t *comp)
{
    ++completed;
}

static long pinned_kib(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    long kib     = -1;
    char line[128];

    while (fgets(line, sizeof(line), status) != NULL) {
        if (sscanf(line, "VmPin: %ld", &kib) == 1) {
            break;
        }
    }
    fclose(status);
    return kib;
}

/* The first memory domain of the ib component */
static uct_md_h open_domain(void)
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
        if (!strcmp(attr.name, "ib") && (attr.md_resource_count > 0)) {
            break;
        }
    }
    if (i == num) {
        fprintf(stderr, "there is no memory domain of ib\n");
        exit(77);
    }

    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = calloc(attr.md_resource_count,
                               sizeof(*attr.md_resources));
    CHECK(uct_component_query(components[i], &attr) == UCS_OK);
    CHECK(uct_md_config_read(components[i], NULL, NULL, &config) == UCS_OK);
    CHECK(uct_md_open(components[i], attr.md_resources[0].md_name, config,
                      &md) == UCS_OK);
    uct_config_release(config);
    uct_release_component_list(components);
    free(attr.md_resources);
    return md;
}

int main(void)
{
    uct_completion_t comp            = {.func = done, .count = 1};
    uct_md_h md                      = open_domain();
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH |
                      UCT_MD_MEM_DEREG_FIELD_FLAGS |
                      UCT_MD_MEM_DEREG_FIELD_COMPLETION,
        .flags      = UCT_MD_MEM_DEREG_FLAG_INVALIDATE,
        .comp       = &comp
    };
    void *buffer                     = aligned_alloc(4096, LENGTH);
    long before                      = pinned_kib();
    uct_mem_h first, second, third;

    memset(buffer, 1, LENGTH);

    /* Two uses at the same time */
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &first) == UCS_OK);
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &second) == UCS_OK);
    CHECK(pinned_kib() >= before + LENGTH / 1024);

    params.memh = first;
    CHECK(uct_md_mem_dereg_v2(md, &params) == UCS_OK);
    CHECK(completed == (first != second));

    /* A new use begins while the invalidated region is still there */
    CHECK(uct_md_mem_reg(md, buffer, LENGTH, FLAGS, &third) == UCS_OK);
    CHECK(third != second);

    CHECK(uct_md_mem_dereg(md, second) == UCS_OK);
    CHECK(completed == 1);
    CHECK(pinned_kib() <= before + LENGTH / 1024);

    /* A single use */
    comp.count  = 1;
    params.memh = third;
    CHECK(uct_md_mem_dereg_v2(md, &params) == UCS_OK);
    CHECK(completed == 2);
    CHECK(pinned_kib() == before);

    uct_md_close(md);
    free(buffer);
    printf("invalidated when the last use had ended\n");
    return 0;
}
