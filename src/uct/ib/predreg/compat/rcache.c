/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "config_table.h"
#include "rcache.h"

#include <ucm/api/ucm.h>
#include <ucs/config/parser.h>
#include <ucs/sys/math.h>
#include <ucs/sys/string.h>
#include <uct/api/version.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>


/* ucs_rcache_params_t by version. UCS copies the structure, but keeps a pointer to the
 * operations. */
typedef struct params_rest {
    int           ucm_events;
    int           ucm_event_priority;
    const void    *ops;
    void          *context;
    int           flags;
    unsigned long max_regions;
    size_t        max_size;
    size_t        max_unreleased;
} params_rest_t;

typedef struct params_1_13 {
    size_t        region_struct_size;
    size_t        alignment;
    size_t        max_alignment;
    params_rest_t rest;
} params_1_13_t;

typedef struct params_1_17 {
    size_t        region_struct_size;
    params_rest_t rest;
} params_1_17_t;

#if UCT_API >= UCT_VERSION(1, 17)
typedef params_1_17_t params_t;
#else
typedef params_1_13_t params_t;
#endif

/* The lookup of UCS, by version of UCX */
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
    UCS_STATIC_ASSERT(ucs_offsetof(params_t, rest._member) == \
                      ucs_offsetof(ucs_rcache_params_t, _member))

/* Check that the layouts above are those of the UCX of the build */
static void assert_layouts(void)
{
    UCS_STATIC_ASSERT(sizeof(params_t) == sizeof(ucs_rcache_params_t));
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

/* UCS calls this when it has extended a region. There is nothing to do, since this
 * library knows only the address of the region */
static void merge(void *context, ucs_rcache_t *rcache, void *arg,
                  ucs_rcache_region_t *region)
{
}

ucs_status_t uct_predreg_rcache_init(uct_predreg_rcache_t *rcache,
                                     const uct_predreg_rcache_params_t *params)
{
    const unsigned minor                   = uct_predreg_ucs_minor();
    const uct_predreg_settings_t *settings = params->settings;
    const params_rest_t rest               = {
        .ucm_events         = UCM_EVENT_VM_UNMAPPED | UCM_EVENT_MEM_TYPE_FREE,
        .ucm_event_priority = settings->event_priority,
        .ops                = rcache->ops,
        .context            = params->context,
        .flags              = settings->purge_on_fork ?
                              UCS_RCACHE_FLAG_PURGE_ON_FORK : 0,
        .max_regions        = settings->max_regions,
        .max_size           = settings->max_bytes,
        .max_unreleased     = settings->max_unreleased
    };
    const params_1_13_t early = {
        .region_struct_size = params->region_size,
        .alignment          = UCS_RCACHE_MIN_ALIGNMENT,
        .max_alignment      = sysconf(_SC_PAGESIZE),
        .rest               = rest
    };
    const params_1_17_t late  = {params->region_size, rest};
    void **op                 = rcache->ops;

    assert_layouts();
    *op++ = (void*)params->mem_reg;
    *op++ = (void*)params->mem_dereg;
    if (minor >= UCT_PREDREG_UCS_RCACHE_MERGE) {
        *op++ = (void*)merge;
    }
    *op = (void*)params->dump_region;

    return ucs_rcache_create((minor >= UCT_PREDREG_UCS_RCACHE_ALIGN) ?
                             (const void*)&late : (const void*)&early,
                             params->name, NULL, &rcache->ucs);
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


/* Settings */

/* The default of RCACHE_MAX_UNRELEASED in uct_md.c of UCX up to 1.15; later versions have
 * inf */
#define MAX_UNRELEASED (512ul << 20)


/* Read a number of bytes or of regions */
static int read_limit(const char *text, void *dest, const void *arg)
{
    uint64_t *limit = dest;
    size_t value;

    if (!ucs_config_sscanf_memunits(text, &value, arg)) {
        return 0;
    }

    *limit = (value == UCS_MEMUNITS_AUTO) ? UINT64_MAX : value;
    return 1;
}

/* Read a time in seconds. "auto" and "inf" are not times, and leave the value as it is */
static int read_time(const char *text, void *dest, const void *arg)
{
    double seconds;

    if (!ucs_config_sscanf_time(text, &seconds, arg) || isinf(seconds) || (seconds < 0)) {
        return 0;
    }

    *(double*)dest = seconds;
    return 1;
}

static int read_nothing(const char *text, void *dest, const void *arg)
{
    return 1;
}

#define FIELD(_name) ucs_offsetof(uct_predreg_settings_t, _name)

/* The settings of UCX's caches. The last three have no effect on the cache of this library
 * (is_in_vain): the helper or the next registration deregisters unmapped memory, slices are
 * joined by how they are used, and the handler of memory events has a priority of its own.
 * In UCX's structure, which md/kept.c uses, all but the alignment have their effect.
 * Defaults are those of all versions and components. */
static const struct {
    const char *name;
    /* A function for the type of the setting, like UCS's. @return whether UCX could have
     * written the text */
    int        (*read)(const char *text, void *dest, const void *arg);
    size_t     offset;
    const char *defaults[3];
    int        is_in_vain;
} rows[] = {
    {"RCACHE_MAX_SIZE", read_limit, FIELD(max_bytes), {"inf"}, 0},
    {"RCACHE_MAX_REGIONS", read_limit, FIELD(max_regions), {"inf"}, 0},
    {"RCACHE_PURGE_ON_FORK", ucs_config_sscanf_bool, FIELD(purge_on_fork), {"y"}, 0},
    {"RCACHE_OVERHEAD", read_time, FIELD(overhead), {"auto"}, 0},
    {"RCACHE_MAX_UNRELEASED", read_limit, FIELD(max_unreleased), {"512M", "inf"}, 1},
    {"RCACHE_MEM_PRIO", ucs_config_sscanf_uint, FIELD(event_priority), {"1000", "500"}, 1},
    {"RCACHE_ADDR_ALIGN", read_nothing, 0, {"16", "64", "128"}, 1}
};

static int is_default(const char *value, const char *const *defaults,
                      unsigned count)
{
    unsigned i;

    for (i = 0; (i < count) && (defaults[i] != NULL); ++i) {
        if (!strcmp(value, defaults[i])) {
            return 1;
        }
    }
    return 0;
}

static void tell(char *told, size_t max, const char *prefix, const char *name,
                 const char *value, int is_in_vain)
{
    size_t length    = strlen(told);
    const char *same = told;
    char item[192];
    char end;

    snprintf(item, sizeof(item), "%s%s=%s%s", prefix, name, value,
             is_in_vain ? " (no effect)" : "");
    for (; (same = strstr(same, item)) != NULL; ++same) {
        end = same[strlen(item)];
        if ((end == ',') || (end == '\0')) {
            return;
        }
    }

    snprintf(told + length, max - length, "%s%s", (length > 0) ? ", " : "",
             item);
}

void uct_predreg_settings_init(uct_predreg_settings_t *settings)
{
    *settings = (uct_predreg_settings_t){
        .max_bytes      = UINT64_MAX,
        .max_regions    = UINT64_MAX,
        .max_unreleased = MAX_UNRELEASED,
        .event_priority = 1000,
        .purge_on_fork  = 1,
        .overhead       = -1
    };
}

void uct_predreg_settings_read(uct_predreg_settings_t *settings,
                               const char *prefix,
                               uct_predreg_settings_get_t get, void *arg,
                               char *told, size_t max)
{
    char value[64];
    unsigned i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        if (get(arg, rows[i].name, value, sizeof(value)) &&
            rows[i].read(value, (char*)settings + rows[i].offset, NULL) &&
            !is_default(value, rows[i].defaults,
                        sizeof(rows[i].defaults) /
                        sizeof(rows[i].defaults[0]))) {
            tell(told, max, prefix, rows[i].name, value,
                 rows[i].is_in_vain);
        }
    }
}

uct_predreg_cache_settings_t *
uct_predreg_settings_find(uct_predreg_cache_settings_t *list, unsigned count,
                          const char *component)
{
    unsigned i;

    for (i = 0; i < count; ++i) {
        if (!strcmp(list[i].component, component)) {
            return &list[i];
        }
    }
    return NULL;
}

void uct_predreg_settings_of(uct_predreg_cache_settings_t *list, unsigned count,
                             const char *component,
                             uct_predreg_settings_t *values)
{
    const uct_predreg_cache_settings_t *settings;

    settings = uct_predreg_settings_find(list, count, component);
    if (settings == NULL) {
        settings = uct_predreg_settings_find(list, count, "");
    }

    if (settings != NULL) {
        *values = settings->values;
    } else {
        uct_predreg_settings_init(values);
    }
}
