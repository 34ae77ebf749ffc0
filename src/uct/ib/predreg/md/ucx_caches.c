/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md.h"

#include <uct/ib/predreg/compat/compat.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/debug/log_def.h>
#include <ucs/sys/string.h>

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>


int uct_predreg_components_are_here(const uct_predreg_core_t *core)
{
    const uct_predreg_real_t *real = &core->real;
    uct_component_attr_t attr      = {
        .field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT
    };
    int are_here                   = 0;
    uct_component_h *components;
    unsigned i, count;

    if (real->uct_query_components(&components, &count) != UCS_OK) {
        return 0;
    }

    for (i = 0; (i < count) && !are_here; ++i) {
        are_here = (real->uct_component_query(components[i], &attr) ==
                    UCS_OK) && (attr.md_resource_count > 0) &&
                   uct_predreg_is_managed_component(&core->knobs, attr.name);
    }

    real->uct_release_component_list(components);
    return are_here;
}

void uct_predreg_components_tell(const uct_predreg_knobs_t *knobs,
                                 ucs_string_buffer_t *strb)
{
    const ucs_config_names_array_t *chosen = &knobs->components;
    unsigned i;

    if ((chosen->count == 1) && !strcmp(chosen->names[0], "ib")) {
        ucs_string_buffer_appendf(strb, "an RDMA adapter");
        return;
    }

    ucs_string_buffer_appendf(strb, "UCX_RCACHE_PRED_COMPONENTS=");
    for (i = 0; i < chosen->count; ++i) {
        ucs_string_buffer_appendf(strb, "%s%s", (i == 0) ? "" : ",",
                                  chosen->names[i]);
    }
}

/* Whether a name is the name of one of the components. Also writes the names of all
 * components to @a text, as far as there is room. */
static int is_one_of(const uct_predreg_real_t *real, const char *name,
                     const uct_component_h *components, unsigned count,
                     char *text, size_t max)
{
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    size_t length             = 0;
    int found                 = 0;
    unsigned i;

    text[0] = '\0';
    for (i = 0; i < count; ++i) {
        if (real->uct_component_query(components[i], &attr) != UCS_OK) {
            continue;
        }

        found = found || !strcmp(name, attr.name);
        if (length < max) {
            length += snprintf(text + length, max - length, "%s%s",
                               (length == 0) ? "" : ", ", attr.name);
        }
    }

    return found;
}

void uct_predreg_components_check(const uct_predreg_core_t *core)
{
    const ucs_config_names_array_t *requested = &core->knobs.components;
    const uct_predreg_real_t *real            = &core->real;
    uct_component_h *components;
    unsigned i, count;
    char text[256];

    if (!ucs_log_is_enabled(UCS_LOG_LEVEL_WARN) ||
        (real->uct_query_components(&components, &count) != UCS_OK)) {
        return;
    }

    for (i = 0; i < requested->count; ++i) {
        if (!is_one_of(real, requested->names[i], components, count, text,
                       sizeof(text))) {
            /* The default is no mistake where UCX is without InfiniBand */
            ucs_log(strcmp(requested->names[i], "ib") ? UCS_LOG_LEVEL_WARN :
                                                        UCS_LOG_LEVEL_INFO,
                    "UCX_RCACHE_PRED_COMPONENTS: there is no component '%s' here; "
                    "there are %s", requested->names[i], text);
        }
    }

    real->uct_release_component_list(components);
}


/*
 * Switches UCX's own registration caches off: UCP's cache, above the library, would hold
 * on to every region, and UCT's cache, below, would keep every region pinned. Each
 * configuration is changed when UCX has read it. The library sets no environment
 * variables: child processes would inherit them, and take them for the user's wish.
 * Settings of the user stay as set; if a setting leaves a cache on, nothing is managed.
 */


/* Write the name of the environment variable for a setting. @param component  NULL: the
 * setting is one of UCP. */
static void variable_name(char *name, size_t max, const char *component,
                          const uct_predreg_setting_t *setting)
{
    char *c;

    if (component == NULL) {
        snprintf(name, max, "UCX_%s", setting->name);
        return;
    }

    snprintf(name, max, "UCX_%s_%s", component, setting->name);
    for (c = name; *c != '\0'; ++c) {
        *c = toupper((unsigned char)*c);
    }
}

/* Let the library manage nothing, and say why: the user has left UCX's own cache on, by a
 * variable or a configuration file */
static void cache_kept(uct_predreg_core_t *core, const char *component,
                       const uct_predreg_setting_t *setting, const char *value)
{
    char name[64], detail[160];

    variable_name(name, sizeof(name), component, setting);
    snprintf(detail, sizeof(detail), "%s=%s", name, value);
    uct_predreg_step_aside(core, setting->kept, detail);
}

/* Whether a user's value switches the cache of a setting off. Where the value for off is
 * "n", UCX also takes "no" and "0", and capital letters (ucs_config_sscanf_bool()). Any
 * other value for off must be written exactly so. */
static int is_off(const uct_predreg_setting_t *setting, const char *value)
{
    if (strcmp(setting->off, "n")) {
        return !strcmp(value, setting->off);
    }

    return !strcasecmp(value, "n") || !strcasecmp(value, "no") ||
           !strcmp(value, "0");
}

/* Whether the user's variable for a setting leaves the cache on. If so, step aside */
static int user_keeps(uct_predreg_core_t *core, const char *component,
                      const uct_predreg_setting_t *setting)
{
    const char *value;
    char name[64];

    variable_name(name, sizeof(name), component, setting);
    value = getenv(name);
    if ((value == NULL) || is_off(setting, value)) {
        return 0;
    }

    cache_kept(core, component, setting, value);
    return 1;
}

/* Whether the user keeps the cache of UCP or of a managed component on. All caches are
 * looked at before any cache is switched off */
static int is_forced_on(uct_predreg_core_t *core)
{
    const ucs_config_names_array_t *components = &core->knobs.components;
    const uct_predreg_setting_t *setting;
    unsigned i;

    if (user_keeps(core, NULL, &uct_predreg_ucp_cache)) {
        return 1;
    }

    for (setting = core->compat->md_caches; setting->name != NULL; ++setting) {
        for (i = 0; i < components->count; ++i) {
            if (user_keeps(core, components->names[i], setting)) {
                return 1;
            }
        }
    }

    return 0;
}

/* Note whether UCP chooses its protocols by its cost model (PROTO_ENABLE). If little
 * memory may be locked, so that UCP's pools could not grow, switch the cost model off,
 * unless the user has set it: with 30 MB of locked memory, UCP was seen to hang with the
 * cost model, and to go on without. */
static void choose_protocols(uct_predreg_core_t *core,
                             const uct_predreg_real_t *real,
                             ucp_config_t *config)
{
    const uct_predreg_setting_t *proto = &core->compat->proto;
    char name[64], value[64];

    if (!uct_predreg_ucp_setting(real, config, proto->name, value,
                                 sizeof(value)) ||
        !strcmp(value, proto->off)) {
        return;
    }

    variable_name(name, sizeof(name), NULL, proto);
    if (core->compat->proto_starves_pools && uct_predreg_pools_are_limited() &&
        (getenv(name) == NULL) && !strcmp(value, proto->default_value)) {
        real->ucp_config_modify(config, proto->name, proto->off);
        ucs_debug("%s=%s, since locked memory is limited", name, proto->off);
        return;
    }

    ucs_relaxed_store(&core->fenced_puts, 1);
}

/* Take over the user's settings of a cache of UCX from a configuration.
 * @param component  The component with the cache; empty: the cache is UCP's */
static void take_over(uct_predreg_core_t *core, const char *component,
                      uct_predreg_settings_get_t get, void *arg)
{
    const uct_predreg_setting_t none = {.name = ""};
    uct_predreg_cache_settings_t *settings;
    char prefix[64];

    variable_name(prefix, sizeof(prefix),
                  (component[0] == '\0') ? NULL : component, &none);

    uct_predreg_core_lock(core);
    settings = uct_predreg_settings_find(core->settings, core->num_settings,
                                         component);
    if ((settings == NULL) &&
        (core->num_settings < UCT_PREDREG_SETTINGS_CACHES)) {
        settings = &core->settings[core->num_settings++];
        ucs_strncpy_safe(settings->component, component,
                         sizeof(settings->component));
    }
    if (settings != NULL) {
        uct_predreg_settings_init(&settings->values);
        uct_predreg_settings_read(&settings->values, prefix, get, arg,
                                  core->told_settings,
                                  sizeof(core->told_settings));
    }
    uct_predreg_core_unlock(core);
}

static int get_ucp(void *arg, const char *name, char *value, size_t max)
{
    return uct_predreg_ucp_settings_find(arg, name, value, max);
}

void uct_predreg_ucp_config(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            ucp_config_t *config)
{
    const uct_predreg_setting_t *cache = &uct_predreg_ucp_cache;
    char value[64];
    char *text;

    /* The core may have started before UCP was loaded: so look at UCP's version, too */
    if (!uct_predreg_is_managing(core) ||
        (uct_predreg_find_compat(core, real) != core->compat) || is_forced_on(core) ||
        !uct_predreg_components_are_here(core) ||
        !uct_predreg_ucp_setting(real, config, cache->name, value, sizeof(value))) {
        return;
    }

    if (!strcmp(value, cache->default_value)) {
        real->ucp_config_modify(config, cache->name, cache->off);
        ucs_relaxed_store(&core->ucp_cache_is_off, 1);
    } else if (strcmp(value, cache->off)) {
        cache_kept(core, NULL, cache, value);
        return;
    }

    text = uct_predreg_ucp_settings(real, config);
    take_over(core, "", get_ucp, text);
    free(text);
    choose_protocols(core, real, config);
}

/* Give a setting of a component its value for off. From 1.17 on UCX finds a setting by
 * its name with the prefix of the component's table (ucs_config_parser_set_value() of
 * parser.c), as in variables */
static void md_switch_off(const uct_predreg_core_t *core, const char *component,
                          const uct_predreg_setting_t *setting,
                          uct_md_config_t *config)
{
    const uct_predreg_real_t *real = &core->real;
    char name[64];

    if (real->uct_config_modify(config, setting->name, setting->off) ==
        UCS_OK) {
        return;
    }

    variable_name(name, sizeof(name), component, setting);
    real->uct_config_modify(config, name + strlen("UCX_"), setting->off);
}

/* Switch off the cache that a setting controls, or step aside if the user leaves the
 * cache on. @return whether the configuration has the setting. */
static int md_cache_off(uct_predreg_core_t *core, const char *component,
                        const uct_predreg_setting_t *setting,
                        uct_md_config_t *config)
{
    const uct_predreg_real_t *real = &core->real;
    char value[64];

    if (real->uct_config_get(config, setting->name, value, sizeof(value)) !=
        UCS_OK) {
        return 0;
    }

    if (!strcmp(value, setting->default_value)) {
        md_switch_off(core, component, setting, config);
    } else if (strcmp(value, setting->off)) {
        cache_kept(core, component, setting, value);
    }
    return 1;
}

/* Bound how often a domain repeats a registration for which the adapter has no key left,
 * unless the user has set a bound. Repeating is of no use: nobody can deregister memory
 * meanwhile, since the library holds the domain's lock; the library deregisters idle
 * memory after the failure */
static void bound_retries(uct_predreg_core_t *core, const char *component,
                          uct_md_config_t *config)
{
    const uct_predreg_real_t *real       = &core->real;
    const uct_predreg_setting_t *setting = &core->compat->reg_retry;
    char name[64], value[64];

    if ((setting->name == NULL) ||
        (real->uct_config_get(config, setting->name, value, sizeof(value)) !=
         UCS_OK) || strcmp(value, setting->default_value)) {
        return;
    }

    variable_name(name, sizeof(name), component, setting);
    if (getenv(name) == NULL) {
        md_switch_off(core, component, setting, config);
    }
}

/* A configuration of the domains of a component */
typedef struct {
    const uct_predreg_real_t *real;
    uct_md_config_t          *config;
} md_config_t;

static int get_md(void *arg, const char *name, char *value, size_t max)
{
    const md_config_t *md = arg;

    return md->real->uct_config_get(md->config, name, value, max) == UCS_OK;
}

/* Take over the settings of a component's cache, if there is one */
static void take_over_md(uct_predreg_core_t *core, const char *component,
                         uct_md_config_t *config)
{
    md_config_t md = {
        .real   = &core->real,
        .config = config
    };
    char value[64];

    if (get_md(&md, "RCACHE_MAX_SIZE", value, sizeof(value))) {
        take_over(core, component, get_md, &md);
    }
}

void uct_predreg_md_config(uct_predreg_core_t *core, uct_component_h component,
                           uct_md_config_t *config)
{
    static atomic_flag checked = ATOMIC_FLAG_INIT;
    uct_component_attr_t attr  = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    const uct_predreg_setting_t *setting;

    /* Relaxed: whichever thread comes here first may check the components */
    if (!atomic_flag_test_and_set_explicit(&checked, memory_order_relaxed)) {
        uct_predreg_components_check(core);
    }

    if (!uct_predreg_is_managing(core) || is_forced_on(core) ||
        (core->real.uct_component_query(component, &attr) != UCS_OK) ||
        !uct_predreg_is_managed_component(&core->knobs, attr.name)) {
        return;
    }

    bound_retries(core, attr.name, config);
    for (setting = core->compat->md_caches; setting->name != NULL; ++setting) {
        if (md_cache_off(core, attr.name, setting, config)) {
            break;
        }
    }
    take_over_md(core, attr.name, config);
}
