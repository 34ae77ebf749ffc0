/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_SETTINGS_H_
#define TEST_NATIVE_SETTINGS_H_

#include <ucs/config/types.h>
#include <ucs/memory/rcache.h>
#include <ucs/datastruct/linear_func.h>
#include <ucs/type/status.h>
#include <uct/api/version.h>

/** @file settings.h
 *
 * The settings of a domain of cma in the native rig: those of a domain of ib of
 * the same version of UCX that are about registration and its cache, with the
 * same names, defaults and meaning (ib_md.c, uct_md.c), as
 * UCX_CMA_MEM_REG_OVERHEAD, UCX_CMA_REG_METHODS, UCX_CMA_RCACHE_ADDR_ALIGN and so
 * on. UCX reads them into a configuration, which UCP may change before it opens
 * a domain with it. The settings are kept beside UCX's own configuration of cma,
 * and are found by its address.
 *
 * Any thread may call these functions, one at a time for each configuration.
 */

/* Whether a domain of ib has a cache of its own. From 1.16 on UCP has it */
#define SETTINGS_CACHE (UCT_API < UCT_VERSION(1, 16))

/* Whether it registers again as long as the system says EAGAIN */
#define SETTINGS_RETRIES (UCT_API >= UCT_VERSION(1, 16))

typedef struct settings {
    ucs_linear_func_t reg_cost; /* Seconds that UCP is told */
#if SETTINGS_CACHE
    UCS_CONFIG_STRING_ARRAY_FIELD(names) reg_methods;
    unsigned      event_priority;
    unsigned      alignment;
    unsigned long max_regions;
    size_t        max_size;
    size_t        max_unreleased;
    int           purge_on_fork;
#endif
#if SETTINGS_RETRIES
    unsigned long reg_retries;
#endif
} settings_t;


/** Read the settings for a configuration that UCX has just read. */
ucs_status_t settings_read(const void *config);

/** @return the settings of a configuration, or NULL if it is not one of cma. */
const settings_t *settings_find(const void *config);

/** Get or change a setting by its name, as uct_config_get() and
 *  uct_config_modify() do. @return UCS_ERR_NO_ELEM if this configuration has
 *  none of that name here. */
ucs_status_t settings_get(const void *config, const char *name, char *value,
                          size_t max);
ucs_status_t settings_modify(const void *config, const char *name,
                             const char *value);

/** Forget the settings of a configuration, which is about to be released. */
void settings_release(const void *config);

#if SETTINGS_CACHE
/** Fill in what the settings decide of the parameters of UCX's cache. */
void settings_to_rcache(const settings_t *settings, ucs_rcache_params_t *params);
#endif

#endif
