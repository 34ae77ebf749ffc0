/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rcache.h"
#include "ucs_version.h"

#include <ucs/sys/math.h>
#include <uct/api/version.h>

#include <unistd.h>


/* ucs_rcache_params_t by version. UCS copies it, but keeps a pointer to the
 * operations. */
typedef struct params_1_13 {
    size_t        region_struct_size;
    size_t        alignment;
    size_t        max_alignment;
    int           ucm_events;
    int           ucm_event_priority;
    const void    *ops;
    void          *context;
    int           flags;
    unsigned long max_regions;
    size_t        max_size;
    size_t        max_unreleased;
} params_1_13_t;

typedef struct params_1_17 {
    size_t        region_struct_size;
    int           ucm_events;
    int           ucm_event_priority;
    const void    *ops;
    void          *context;
    int           flags;
    unsigned long max_regions;
    size_t        max_size;
    size_t        max_unreleased;
} params_1_17_t;

#if UCT_API >= UCT_VERSION(1, 17)
typedef params_1_17_t params_t;
#else
typedef params_1_13_t params_t;
#endif

/* The lookup by version */
static const union {
    void         (*any)(void);
    ucs_status_t (*from_1_13)(ucs_rcache_t *rcache, void *address,
                              size_t length, int prot, void *arg,
                              ucs_rcache_region_t **region_p);
    ucs_status_t (*from_1_17)(ucs_rcache_t *rcache, void *address,
                              size_t length, size_t alignment, int prot,
                              void *arg, ucs_rcache_region_t **region_p);
} get = {(void (*)(void))ucs_rcache_get};

#define ASSERT_PARAM(_member) \
    UCS_STATIC_ASSERT(ucs_offsetof(params_t, _member) == \
                      ucs_offsetof(ucs_rcache_params_t, _member))

/* What is above is so for the version that this is compiled for */
static void assert_layouts(void)
{
    UCS_STATIC_ASSERT(sizeof(params_t) == sizeof(ucs_rcache_params_t));
    ASSERT_PARAM(region_struct_size);
    ASSERT_PARAM(ucm_events);
    ASSERT_PARAM(ucm_event_priority);
    ASSERT_PARAM(ops);
    ASSERT_PARAM(context);
    ASSERT_PARAM(flags);
    ASSERT_PARAM(max_regions);
    ASSERT_PARAM(max_size);
    ASSERT_PARAM(max_unreleased);
    UCS_STATIC_ASSERT(sizeof(ucs_rcache_ops_t) <=
                      sizeof(((uct_predreg_rcache_t*)NULL)->ops));
}

/* UCS tells that it extends a region: nothing is known of regions but the
 * address */
static void merge(void *context, ucs_rcache_t *rcache, void *arg,
                  ucs_rcache_region_t *region)
{
}

static ucs_status_t create_1_13(uct_predreg_rcache_t *rcache,
                                const uct_predreg_rcache_params_t *params)
{
    const params_1_13_t ucs = {
        .region_struct_size = params->region_size,
        .alignment          = UCS_RCACHE_MIN_ALIGNMENT,
        .max_alignment      = sysconf(_SC_PAGESIZE),
        .ucm_events         = params->events,
        .ucm_event_priority = params->event_priority,
        .ops                = rcache->ops,
        .context            = params->context,
        .flags              = params->purge_on_fork ?
                              UCS_RCACHE_FLAG_PURGE_ON_FORK : 0,
        .max_regions        = params->max_regions,
        .max_size           = params->max_size,
        .max_unreleased     = params->max_unreleased
    };

    return ucs_rcache_create((const void*)&ucs, params->name, NULL,
                             &rcache->ucs);
}

static ucs_status_t create_1_17(uct_predreg_rcache_t *rcache,
                                const uct_predreg_rcache_params_t *params)
{
    const params_1_17_t ucs = {
        .region_struct_size = params->region_size,
        .ucm_events         = params->events,
        .ucm_event_priority = params->event_priority,
        .ops                = rcache->ops,
        .context            = params->context,
        .flags              = params->purge_on_fork ?
                              UCS_RCACHE_FLAG_PURGE_ON_FORK : 0,
        .max_regions        = params->max_regions,
        .max_size           = params->max_size,
        .max_unreleased     = params->max_unreleased
    };

    return ucs_rcache_create((const void*)&ucs, params->name, NULL,
                             &rcache->ucs);
}

ucs_status_t uct_predreg_rcache_init(uct_predreg_rcache_t *rcache,
                                     const uct_predreg_rcache_params_t *params)
{
    const unsigned minor = uct_predreg_ucs_minor();
    void **op            = rcache->ops;

    assert_layouts();
    *op++ = (void*)params->mem_reg;
    *op++ = (void*)params->mem_dereg;
    if (minor >= UCT_PREDREG_UCS_RCACHE_MERGE) {
        *op++ = (void*)merge;
    }
    *op = (void*)params->dump_region;

    return (minor >= UCT_PREDREG_UCS_RCACHE_ALIGN) ?
           create_1_17(rcache, params) : create_1_13(rcache, params);
}

ucs_status_t uct_predreg_rcache_get(uct_predreg_rcache_t *rcache, void *address,
                                    size_t length, int prot, void *arg,
                                    ucs_rcache_region_t **region_p)
{
    return (uct_predreg_ucs_minor() >= UCT_PREDREG_UCS_RCACHE_ALIGN) ?
           get.from_1_17(rcache->ucs, address, length, UCS_RCACHE_MIN_ALIGNMENT,
                         prot, arg, region_p) :
           get.from_1_13(rcache->ucs, address, length, prot, arg, region_p);
}
