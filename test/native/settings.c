/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "settings.h"

#include <ucs/config/parser.h>

#include <pthread.h>
#include <stdlib.h>

#define PREFIX "CMA_"

/* Read settings from the environment. From UCX 1.15 on the parser wants what
 * UCS_CONFIG_REGISTER_TABLE made of the table */
#if UCT_API >= UCT_VERSION(1, 15)
#define CONFIG_FILL(_opts, _table, _prefix) \
    ucs_config_parser_fill_opts(_opts, &_table##_config_entry, "UCX_", 0)
#else
#define CONFIG_FILL(_opts, _table, _prefix) \
    ucs_config_parser_fill_opts(_opts, _table, "UCX_", _prefix, 0)
#endif

/* Change a setting. From UCX 1.17 on the parser wants the prefix */
#if UCT_API >= UCT_VERSION(1, 17)
#define CONFIG_SET(_opts, _table, _prefix, _name, _value) \
    ucs_config_parser_set_value(_opts, _table, _prefix, _name, _value)
#else
#define CONFIG_SET(_opts, _table, _prefix, _name, _value) \
    ucs_config_parser_set_value(_opts, _table, _name, _value)
#endif

static ucs_config_field_t settings_table[] = {
    {"MEM_REG_OVERHEAD", "16us", "As UCX_IB_MEM_REG_OVERHEAD",
     ucs_offsetof(settings_t, reg_cost.c), UCS_CONFIG_TYPE_TIME},

    {"MEM_REG_GROWTH", "0.06ns", "As UCX_IB_MEM_REG_GROWTH",
     ucs_offsetof(settings_t, reg_cost.m), UCS_CONFIG_TYPE_TIME},

#if SETTINGS_CACHE
    {"REG_METHODS", "rcache,odp,direct",
     "Native rig: how memory is registered; the first that works is taken:\n"
     " rcache - with UCX's registration cache\n"
     " odp    - not here\n"
     " direct - at each use",
     ucs_offsetof(settings_t, reg_methods), UCS_CONFIG_TYPE_STRING_ARRAY},

    {"RCACHE_MEM_PRIO", "1000", "As UCX_IB_RCACHE_MEM_PRIO",
     ucs_offsetof(settings_t, event_priority), UCS_CONFIG_TYPE_UINT},

    {"RCACHE_ADDR_ALIGN", "16", "As UCX_IB_RCACHE_ADDR_ALIGN",
     ucs_offsetof(settings_t, alignment), UCS_CONFIG_TYPE_UINT},

    {"RCACHE_MAX_REGIONS", "inf", "As UCX_IB_RCACHE_MAX_REGIONS",
     ucs_offsetof(settings_t, max_regions), UCS_CONFIG_TYPE_ULUNITS},

    {"RCACHE_MAX_SIZE", "inf", "As UCX_IB_RCACHE_MAX_SIZE",
     ucs_offsetof(settings_t, max_size), UCS_CONFIG_TYPE_MEMUNITS},

    {"RCACHE_MAX_UNRELEASED", "512M", "As UCX_IB_RCACHE_MAX_UNRELEASED",
     ucs_offsetof(settings_t, max_unreleased), UCS_CONFIG_TYPE_MEMUNITS},

    {"RCACHE_PURGE_ON_FORK", "y", "As UCX_IB_RCACHE_PURGE_ON_FORK",
     ucs_offsetof(settings_t, purge_on_fork), UCS_CONFIG_TYPE_BOOL},
#endif

#if SETTINGS_RETRIES
    {"REG_RETRY_CNT", (UCT_API >= UCT_VERSION(1, 18)) ? "inf" : "7",
     "As UCX_IB_REG_RETRY_CNT",
     ucs_offsetof(settings_t, reg_retries), UCS_CONFIG_TYPE_ULUNITS},
#endif

    {NULL}
};

UCS_CONFIG_REGISTER_TABLE(settings_table, "Native rig: registration by cma",
                          PREFIX, settings_t, &ucs_config_global_list)

/* UCX warns of variables UCX_* that nobody reads. In a program without the
 * library under test this one would be such a variable */
static ucs_config_field_t foreign_table[] = {
    {"COMPONENTS", "", "", 0, UCS_CONFIG_TYPE_STRING},
    {NULL}
};

UCS_CONFIG_DECLARE_TABLE(foreign_table, "", "RCACHE_PRED_", char*)

typedef struct entry {
    const void   *config;
    settings_t   settings;
    struct entry *next;
} entry_t;

static entry_t *entries;  /* Under the lock. Few at a time */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;


/* The place that points to the entry of a configuration, or to NULL. To be
 * called under the lock */
static entry_t **find_place(const void *config)
{
    entry_t **place;

    for (place = &entries; (*place != NULL) && ((*place)->config != config);
         place = &(*place)->next) {
    }
    return place;
}

static entry_t *find(const void *config)
{
    entry_t *entry;

    pthread_mutex_lock(&lock);
    entry = *find_place(config);
    pthread_mutex_unlock(&lock);
    return entry;
}

static void read_foreign(void)
{
    char *value;

    if (CONFIG_FILL(&value, foreign_table,
                    foreign_table_config_entry.prefix) == UCS_OK) {
        ucs_config_parser_release_opts(&value, foreign_table);
    }
}

ucs_status_t settings_read(const void *config)
{
    entry_t *entry = calloc(1, sizeof(*entry));
    ucs_status_t status;

    read_foreign();

    if (entry == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = CONFIG_FILL(&entry->settings, settings_table, PREFIX);
    if (status != UCS_OK) {
        free(entry);
        return status;
    }

    entry->config = config;
    pthread_mutex_lock(&lock);
    entry->next = entries;
    entries     = entry;
    pthread_mutex_unlock(&lock);
    return UCS_OK;
}

const settings_t *settings_find(const void *config)
{
    const entry_t *entry = find(config);

    return (entry == NULL) ? NULL : &entry->settings;
}

ucs_status_t settings_get(const void *config, const char *name, char *value,
                          size_t max)
{
    entry_t *entry = find(config);

    return (entry == NULL) ?
           UCS_ERR_NO_ELEM :
           ucs_config_parser_get_value(&entry->settings, settings_table, name,
                                       value, max);
}

ucs_status_t settings_modify(const void *config, const char *name,
                             const char *value)
{
    entry_t *entry = find(config);

    return (entry == NULL) ?
           UCS_ERR_NO_ELEM :
           CONFIG_SET(&entry->settings, settings_table, PREFIX, name, value);
}

void settings_release(const void *config)
{
    entry_t **place;
    entry_t *entry;

    pthread_mutex_lock(&lock);
    place = find_place(config);
    entry = *place;
    if (entry != NULL) {
        *place = entry->next;
    }
    pthread_mutex_unlock(&lock);

    if (entry != NULL) {
        ucs_config_parser_release_opts(&entry->settings, settings_table);
        free(entry);
    }
}

#if SETTINGS_CACHE
void settings_to_rcache(const settings_t *settings, ucs_rcache_params_t *params)
{
    params->alignment          = settings->alignment;
    params->ucm_event_priority = settings->event_priority;
    params->flags              = settings->purge_on_fork ?
                                 UCS_RCACHE_FLAG_PURGE_ON_FORK : 0;
    params->max_regions        = settings->max_regions;
    params->max_size           = settings->max_size;
    params->max_unreleased     = settings->max_unreleased;
}
#endif
