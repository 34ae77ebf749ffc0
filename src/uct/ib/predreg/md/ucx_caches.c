/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx_caches.h"
#include "cache.h"

#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Switches UCX's own registration caches off: a cache above this library would
 * hold on to every region, and one below would keep every region pinned. They
 * are switched off in the configurations as UCX reads them. Environment
 * variables would be inherited by child processes, which would take them for
 * the user's wish. What the user has set stays as it is; if that leaves a cache
 * on, nothing is managed.
 */


/* Step aside, because the user, or a configuration file, keeps UCP's cache
 * on */
static void ucp_cache_kept(uct_predreg_core_t *core, const char *value)
{
    uct_predreg_step_aside(core, "%s=%s keeps UCX's own cache on",
                           core->compat->ucp_cache.variable, value);
}

static void md_cache_kept(uct_predreg_core_t *core, const char *value)
{
    const uct_predreg_setting_t *setting = &core->compat->md_cache;

    uct_predreg_step_aside(core, "%s=%s chooses other than %s registration",
                           setting->variable, value, setting->off);
}

/* The value that the user gave the setting of a cache, if it leaves the cache
 * on; else NULL */
static const char *user_keeps(const uct_predreg_setting_t *setting)
{
    const char *value = (setting->name == NULL) ? NULL :
                                                  getenv(setting->variable);

    return ((value == NULL) || !strcmp(value, setting->off)) ? NULL : value;
}

/* Whether the user keeps one of the two caches on. Both are looked at before
 * either is switched off */
static int is_forced_on(uct_predreg_core_t *core)
{
    const char *value;

    value = user_keeps(&core->compat->ucp_cache);
    if (value != NULL) {
        ucp_cache_kept(core, value);
        return 1;
    }

    value = user_keeps(&core->compat->md_cache);
    if (value != NULL) {
        md_cache_kept(core, value);
        return 1;
    }

    return 0;
}

/* Get the value of a setting in a configuration of UCP. UCP has no function for
 * that, so the configuration is printed, and the setting is searched for in the
 * text */
static int ucp_config_get(const uct_predreg_real_t *real,
                          const ucp_config_t *config, const char *name,
                          char *value, size_t max)
{
    char *text  = NULL;
    size_t size = 0;
    int found   = 0;
    char *line, *equals, *saveptr;
    FILE *stream;
    int ret;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return 0;
    }

    real->ucp_config_print(config, stream, "", UCS_CONFIG_PRINT_CONFIG);
    ret = fclose(stream); /* The text is complete only now */
    if ((ret != 0) || (text == NULL)) {
        goto out; /* There was no memory for it */
    }

    for (line = strtok_r(text, "\n", &saveptr); (line != NULL) && !found;
         line = strtok_r(NULL, "\n", &saveptr)) {
        equals = strchr(line, '=');
        if ((equals == NULL) || (equals - line < (ptrdiff_t)strlen(name)) ||
            strncmp(equals - strlen(name), name, strlen(name))) {
            continue;
        }

        snprintf(value, max, "%s", equals + 1);
        found = 1;
    }

out:
    free(text);
    return found;
}

void uct_predreg_ucp_config(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            ucp_config_t *config)
{
    const uct_predreg_compat_t *compat = core->compat;
    char value[64], proto[64];

    /* The version of UCP may not be known before this point */
    if (!uct_predreg_is_managing(core) ||
        (uct_predreg_find_compat(core, real) != compat) || is_forced_on(core) ||
        !ucp_config_get(real, config, compat->ucp_cache.name, value,
                        sizeof(value))) {
        return;
    }

    if (ucp_config_get(real, config, compat->proto.name, proto,
                       sizeof(proto)) &&
        strcmp(proto, compat->proto.off)) {
        atomic_store_explicit(&core->fenced_puts, 1, memory_order_relaxed);
    }

    if (!strcmp(value, compat->ucp_cache.off)) {
        return;
    }

    if (strcmp(value, compat->ucp_cache.default_value)) {
        ucp_cache_kept(core, value);
        return;
    }

    real->ucp_config_modify(config, compat->ucp_cache.name,
                            compat->ucp_cache.off);
}

void uct_predreg_md_config(uct_predreg_core_t *core, uct_md_config_t *config)
{
    const uct_predreg_setting_t *setting = &core->compat->md_cache;
    const uct_predreg_real_t *real       = &core->real;
    char value[64];

    if (!uct_predreg_is_managing(core) || is_forced_on(core) ||
        (setting->name == NULL) ||
        (real->uct_config_get(config, setting->name, value, sizeof(value)) !=
         UCS_OK)) {
        return; /* This component is not one whose domains are managed */
    }

    if (!strcmp(value, setting->default_value)) {
        real->uct_config_modify(config, setting->name, setting->off);
    } else if (strcmp(value, setting->off)) {
        md_cache_kept(core, value);
    }
}
