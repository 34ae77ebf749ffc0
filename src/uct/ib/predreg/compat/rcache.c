/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "config_table.h"
#include "rcache.h"

#include <ucs/sys/math.h>
#include <ucs/sys/string.h>
#include <uct/api/version.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>


/* ucs_rcache_params_t by version. UCS copies the structure, but keeps a pointer to the
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

/* The layouts above fit the version of the build */
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

/* UCS extends a region: this library knows the address of a region only */
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


/* Settings */

/* uct_md.c of UCX up to 1.15; later it is inf */
#define MAX_UNRELEASED (512ul << 20)


/* Functions that read a value. @return whether UCX could have written the text. */

static int read_bytes(const char *value, uint64_t *bytes_p)
{
    size_t bytes;

    if (ucs_str_to_memunits(value, &bytes) != UCS_OK) {
        return 0;
    }

    *bytes_p = (bytes == UCS_MEMUNITS_AUTO) ? UINT64_MAX : bytes;
    return 1;
}

static int read_max_size(uct_predreg_settings_t *settings, const char *value)
{
    return read_bytes(value, &settings->max_bytes);
}

static int
read_max_unreleased(uct_predreg_settings_t *settings, const char *value)
{
    return read_bytes(value, &settings->max_unreleased);
}

static int read_max_regions(uct_predreg_settings_t *settings, const char *value)
{
    uint64_t count;
    char *end;

    if (!strcasecmp(value, UCS_NUMERIC_INF_STR) ||
        !strcasecmp(value, UCS_VALUE_AUTO_STR)) {
        settings->max_regions = UINT64_MAX;
        return 1;
    }

    count = strtoul(value, &end, 10);
    if ((end == value) || (*end != '\0')) {
        return 0;
    }

    settings->max_regions = count;
    return 1;
}

static int read_priority(uct_predreg_settings_t *settings, const char *value)
{
    return sscanf(value, "%u", &settings->event_priority) == 1;
}

static int
read_purge_on_fork(uct_predreg_settings_t *settings, const char *value)
{
    settings->purge_on_fork = (strcmp(value, "n") != 0);
    return 1;
}

static int read_overhead(uct_predreg_settings_t *settings, const char *value)
{
    static const struct {
        const char *unit;
        double     seconds;
    } units[] = {
        {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {NULL}
    };
    unsigned i;
    double time;
    char *end;

    time = strtod(value, &end);
    if ((end == value) || (time < 0)) {
        return 0; /* auto, inf */
    }

    for (i = 0; units[i].unit != NULL; ++i) {
        if (!strcmp(end, units[i].unit)) {
            settings->overhead = time * units[i].seconds;
            return 1;
        }
    }
    return 0;
}

static int read_nothing(uct_predreg_settings_t *settings, const char *value)
{
    return 1;
}

/* What has no effect: unmapped memory is deregistered by the helper or by the next
 * registration, slices are joined by how they are used, and the handler of memory
 * events has a place of its own. Of the settings, where UCX's structure takes the
 * place (md/kept.c), all but the alignment have their effect. Defaults are those of
 * all versions and components. */
static const struct {
    const char *name;
    int        (*read)(uct_predreg_settings_t *settings, const char *value);
    const char *defaults[3];
    int        is_in_vain;
} rows[] = {
    {"RCACHE_MAX_SIZE", read_max_size, {"inf"}, 0},
    {"RCACHE_MAX_REGIONS", read_max_regions, {"inf"}, 0},
    {"RCACHE_PURGE_ON_FORK", read_purge_on_fork, {"y"}, 0},
    {"RCACHE_OVERHEAD", read_overhead, {"auto"}, 0},
    {"RCACHE_MAX_UNRELEASED", read_max_unreleased, {"512M", "inf"}, 1},
    {"RCACHE_MEM_PRIO", read_priority, {"1000", "500"}, 1},
    {"RCACHE_ADDR_ALIGN", read_nothing, {"16", "64", "128"}, 1}
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
            rows[i].read(settings, value) &&
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
