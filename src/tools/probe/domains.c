/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "probe.h"

#include <ucs/base/clock.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Number of registrations and deregistrations of which the median is taken. The probe
 * registers once before them without counting the time, since the first registration
 * takes longest */
#define REPEAT 21

/* The two lengths that are measured. The reader of the probe's lines computes from both
 * times the cost of a call and the cost of a page */
#define SMALL  (4ul << 10)
#define LARGE  (1ul << 20)


static int compare(const void *a, const void *b)
{
    const uint64_t *first = a, *second = b;

    return (*first > *second) - (*first < *second);
}

/* @return the median of an odd number of times */
static uint64_t median(uint64_t *times, unsigned count)
{
    qsort(times, count, sizeof(*times), compare);
    return times[count / 2];
}

static ucs_status_t
measure_once(const predreg_probe_ucx_t *ucx, uct_md_h md, void *buffer,
             size_t length, uint64_t *reg_p, uint64_t *dereg_p)
{
    uct_md_mem_dereg_params_t params = {
        .field_mask = UCT_MD_MEM_DEREG_FIELD_MEMH
    };
    uint64_t start                   = ucs_monotonic_ns();
    ucs_status_t status;

    status = ucx->compat->mem_reg(&ucx->real, md, buffer, length,
                                  UCT_MD_MEM_ACCESS_ALL |
                                  UCT_MD_MEM_FLAG_HIDE_ERRORS, &params.memh);
    if (status != UCS_OK) {
        return status;
    }

    *reg_p   = ucs_monotonic_ns() - start;
    start    = ucs_monotonic_ns();
    status   = ucx->real.uct_md_mem_dereg_v2(md, &params);
    *dereg_p = ucs_monotonic_ns() - start;
    return status;
}

/* Measure registrations, and say their costs, or why one failed. @return whether the
 * costs were said */
static int measure(const predreg_probe_ucx_t *ucx, uct_md_h md, void *buffer,
                   size_t length)
{
    uint64_t reg[REPEAT], dereg[REPEAT];
    ucs_status_t status;
    int i;

    for (i = -1; i < REPEAT; ++i) {
        status = measure_once(ucx, md, buffer, length, &reg[(i < 0) ? 0 : i],
                              &dereg[(i < 0) ? 0 : i]);
        if (status != UCS_OK) {
            predreg_say("nocost %zu bytes: %s", length,
                        predreg_probe_text(ucx, status));
            return 0;
        }
    }

    predreg_say("cost %zu %lu %lu %d", length,
                median(reg, REPEAT),
                median(dereg, REPEAT), REPEAT);
    return 1;
}

/* Register and deregister a small and a large buffer, and say the costs of both */
static void say_cost(const predreg_probe_ucx_t *ucx, uct_md_h md)
{
    void *buffer = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (buffer == MAP_FAILED) {
        predreg_say("nocost %lu bytes: out of memory", LARGE);
        return;
    }

    memset(buffer, 1, LARGE); /* Give the buffer its pages, as a program has done */
    if (measure(ucx, md, buffer, SMALL)) {
        measure(ucx, md, buffer, LARGE);
    }
    munmap(buffer, LARGE);
}

/* Switch off the memory domain's own registration cache, as the library does: to register
 * a buffer that is in a cache takes no time, and would make the costs too low */
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
                       int is_chosen)
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
    predreg_probe_verbs(name);
    if (registers && needs && is_chosen) {
        predreg_say("stage registering memory with %s", name);
        say_cost(ucx, md);
    }
}

static void probe_domain(const predreg_probe_ucx_t *ucx,
                         uct_component_h component, const char *component_name,
                         const char *name, int is_chosen)
{
    uct_md_config_t *config;
    ucs_status_t status;
    uct_md_h md;

    predreg_say("stage opening the memory domain %s", name);
    status = ucx->uct_md_config_read(component, NULL, NULL, &config);
    if (status != UCS_OK) {
        goto err;
    }

    if (is_chosen) {
        cache_off(ucx, config);
    }

    status = ucx->uct_md_open(component, name, config, &md);
    ucx->uct_config_release(config);
    if (status != UCS_OK) {
        goto err;
    }

    say_domain(ucx, md, component_name, name, is_chosen);
    predreg_say("stage closing the memory domain %s", name);
    ucx->uct_md_close(md);
    return;

err:
    predreg_say("unopened %s %s %s", component_name, name,
                predreg_probe_text(ucx, status));
}

static int is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (; *list != '\0'; list += strcspn(list, ",") + 1) {
        if (!strncmp(list, name, length) && (list[length] == ',')) {
            return 1;
        }
    }

    return 0;
}

static void probe_component(const predreg_probe_ucx_t *ucx,
                            uct_component_h component, const char *components)
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
                         is_listed(components, attr.name));
        }
    }
    free(attr.md_resources);
}

void predreg_probe_domains(const predreg_probe_ucx_t *ucx,
                           const char *components)
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
        probe_component(ucx, list[i], components);
    }
    ucx->real.uct_release_component_list(list);
}

/* A mapping to be unmapped, and the number of events about it */
typedef struct {
    char     *start;
    unsigned count;
} unmap_t;


static void unmapped(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    unmap_t *unmap = arg;
    char *start    = event->vm_unmapped.address;

    if ((start <= unmap->start) &&
        (start + event->vm_unmapped.size >= unmap->start + LARGE)) {
        ++unmap->count;
    }
}

void predreg_probe_events(const predreg_probe_ucx_t *ucx)
{
    static unmap_t unmap; /* UCM keeps the handler, and its argument, for ever */
    ucs_status_t status;

    predreg_say("stage asking for memory events");
    if (ucx->ucm_set_event_handler == NULL) {
        predreg_say("events there is no libucm");
        return;
    }

    unmap.start = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (unmap.start == MAP_FAILED) {
        predreg_say("events out of memory");
        return;
    }

    status = ucx->ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED,
                                        UCT_PREDREG_VM_EVENT_PRIORITY,
                                        unmapped, &unmap);
    if (status != UCS_OK) {
        predreg_say("events %s", predreg_probe_text(ucx, status));
        return;
    }

    munmap(unmap.start, LARGE);
    predreg_say("events %s", (unmap.count > 0) ? "delivered" :
                             "UCM says that they are on, but none came");
}
