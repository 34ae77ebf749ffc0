/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Compares what compat.h and ucx_api.h say of the UCX of this process with what
 * that UCX does: distributions do not install the header with the structures of
 * UCT's second interface. Prints the version, and what is not so.
 *
 * usage: layouts
 */

#include <uct/ib/predreg/compat/compat.h>

#include <ucs/sys/math.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the attributes of any version, and a byte that fills it */
#define ATTR_SIZE 4096
#define FILLER    0xa5

#define LENGTH    (1 << 16)

static int errors;

#define EXPECT(_cond, _fmt, ...) \
    do { \
        if (!(_cond)) { \
            printf(_fmt ": not so: " #_cond "\n", ## __VA_ARGS__); \
            ++errors; \
        } \
    } while (0)

/* The functions of the UCX of this process */
static uct_predreg_real_t real;
static __typeof__(&uct_md_query_v2) query_v2;
static const uct_predreg_compat_t *compat;


/* Ask for the cost alone: UCX writes that, and nothing else */
static void check_query(uct_md_h md, const uct_md_attr_t *attr)
{
    const ucs_linear_func_t *cost;
    static union {
        uct_md_attr_v2_t attr;
        unsigned char    bytes[ATTR_SIZE];
    } v2;
    size_t i;

    memset(&v2, FILLER, sizeof(v2));
    v2.attr.field_mask = compat->reg_cost_field;
    if (query_v2(md, &v2.attr) != UCS_OK) {
        return; /* Some domains have nothing to be asked about */
    }

    cost = UCS_PTR_BYTE_OFFSET(&v2, compat->reg_cost_offset);
    EXPECT(cost->c == attr->reg_cost.c, "%s: cost %g and %g",
           attr->component_name, cost->c, attr->reg_cost.c);
    EXPECT(cost->m == attr->reg_cost.m, "%s: cost a byte %g and %g",
           attr->component_name, cost->m, attr->reg_cost.m);

    for (i = sizeof(v2.attr.field_mask); i < ATTR_SIZE; ++i) {
        if ((i < compat->reg_cost_offset) ||
            (i >= compat->reg_cost_offset + sizeof(*cost))) {
            EXPECT(v2.bytes[i] == FILLER, "%s: byte %zu", attr->component_name,
                   i);
        }
    }
}

/* The columns register and deregister as the version does */
static void check_registration(uct_md_h md, const char *component)
{
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH
    };
    void *buffer                     = malloc(LENGTH);
    ucs_status_t status;

    status = compat->mem_reg(&real, md, buffer, LENGTH,
                             UCT_MD_MEM_ACCESS_RMA |
                             UCT_MD_MEM_FLAG_HIDE_ERRORS, &params.memh);
    EXPECT(status == UCS_OK, "%s: registration: %d", component, status);
    if (status == UCS_OK) {
        status = real.uct_md_mem_dereg_v2(md, &params);
        EXPECT(status == UCS_OK, "%s: deregistration: %d", component, status);
    }
    free(buffer);
}

static void check_domain(uct_component_h component, const char *name)
{
    uct_predreg_md_facts_t facts;
    uct_md_config_t *config;
    uct_md_attr_t attr;
    uct_md_h md;

    if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK) {
        return;
    }

    if (uct_md_open(component, name, config, &md) == UCS_OK) {
        if ((uct_predreg_compat_md_facts(&real, md, &facts) == UCS_OK) &&
            (uct_md_query(md, &attr) == UCS_OK)) {
            if (query_v2 != NULL) {
                check_query(md, &attr);
            }
            if (attr.cap.flags & UCT_MD_FLAG_REG) {
                check_registration(md, facts.component);
            }
            printf("%s%s%s\n", facts.component,
                   (attr.cap.flags & UCT_MD_FLAG_REG) ? " registers" : "",
                   facts.can_register ? ", managed if named" : "");
        }
        uct_md_close(md);
    }
    uct_config_release(config);
}

static void check_component(uct_component_h component)
{
    uct_component_attr_t attr = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };

    if ((uct_component_query(component, &attr) != UCS_OK) ||
        (attr.md_resource_count == 0)) {
        return;
    }

    attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = calloc(attr.md_resource_count,
                               sizeof(*attr.md_resources));
    if ((attr.md_resources != NULL) &&
        (uct_component_query(component, &attr) == UCS_OK)) {
        check_domain(component, attr.md_resources[0].md_name);
    }
    free(attr.md_resources);
}

#define FIND(_name) real._name = dlsym(RTLD_DEFAULT, #_name);

int main(void)
{
    unsigned major, minor, release, count, i;
    uct_component_h *components;
    char reason[128];

    UCT_PREDREG_REAL_UCT(FIND)
    UCT_PREDREG_REAL_UCT_SOME(FIND)
    UCT_PREDREG_REAL_UCP(FIND)
    query_v2 = dlsym(RTLD_DEFAULT, "uct_md_query_v2");

    ucp_get_version(&major, &minor, &release);
    printf("UCX %u.%u.%u\n", major, minor, release);
    compat = uct_predreg_compat_find(&real, reason, sizeof(reason));
    if (compat == NULL) {
        printf("%s\n", reason);
        return 1;
    }

    EXPECT((query_v2 != NULL) == (compat->reg_cost_offset != 0),
           "uct_md_query_v2");
    if (uct_query_components(&components, &count) != UCS_OK) {
        return 1;
    }

    for (i = 0; i < count; ++i) {
        check_component(components[i]);
    }
    uct_release_component_list(components);
    return errors != 0;
}
