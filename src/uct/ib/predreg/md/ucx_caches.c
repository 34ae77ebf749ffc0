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
 * UCX's own registration caches are switched off: a cache above this one would
 * hold on to every region, one below would keep it pinned. Not by environment
 * variables, which children would inherit and take for the user's word, but in
 * the configurations as they are read. What the user set stays; if it leaves a
 * cache on, nothing is managed.
 */

/* UCP: UCX 1.13 to 1.22, ucp_context.c. "try" is the default. */
#define UCP_CACHE_KNOB    "RCACHE_ENABLE"
#define UCP_CACHE_DEFAULT "try"

/* Protocols by cost model. UCP: UCX 1.13, ucp_context.c; off by default */
#define PROTO_KNOB        "PROTO_ENABLE"

/* Memory domain of the ib component: UCX 1.13, ib_md.c. Later versions have no
 * cache there. */
#define MD_CACHE_KNOB     "REG_METHODS"
#define MD_CACHE_DEFAULT  "rcache,odp,direct"
#define MD_CACHE_OFF      "direct"


/* What the user said of a cache, if it leaves the cache on; else NULL */
static const char *user_keeps(const char *variable, const char *off)
{
    const char *value = getenv(variable);

    return ((value == NULL) || !strcmp(value, off)) ? NULL : value;
}

/* Both, before either is switched off */
static int is_forced_on(void)
{
    const char *value;

    value = user_keeps("UCX_" UCP_CACHE_KNOB, "n");
    if (value != NULL) {
        uct_predreg_step_aside("UCX_" UCP_CACHE_KNOB "=%s keeps UCX's own "
                               "cache on", value);
        return 1;
    }

    value = user_keeps("UCX_IB_" MD_CACHE_KNOB, MD_CACHE_OFF);
    if (value != NULL) {
        uct_predreg_step_aside("UCX_IB_" MD_CACHE_KNOB "=%s chooses other than "
                               MD_CACHE_OFF " registration", value);
        return 1;
    }

    return 0;
}

/* Value of a knob in a configuration of UCP, which has no function to get it */
static int ucp_config_get(const uct_predreg_real_t *real,
                          const ucp_config_t *config, const char *name,
                          char *value, size_t max)
{
    char *text  = NULL;
    size_t size = 0;
    int found   = 0;
    char *line, *equals, *saveptr;
    FILE *stream;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return 0;
    }

    real->ucp_config_print(config, stream, "", UCS_CONFIG_PRINT_CONFIG);
    fclose(stream);

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

    free(text);
    return found;
}

void uct_predreg_ucp_config(const uct_predreg_real_t *real,
                            ucp_config_t *config)
{
    char value[64], proto[64];

    if (!uct_predreg_is_managing() ||
        (uct_predreg_check_version(real) != UCS_OK) || is_forced_on() ||
        !ucp_config_get(real, config, UCP_CACHE_KNOB, value, sizeof(value))) {
        return;
    }

    if (ucp_config_get(real, config, PROTO_KNOB, proto, sizeof(proto)) &&
        strcmp(proto, "n")) {
        atomic_store_explicit(&uct_predreg_core.fenced_puts, 1,
                              memory_order_relaxed);
    }

    if (!strcmp(value, "n")) {
        return;
    }

    if (strcmp(value, UCP_CACHE_DEFAULT)) {
        uct_predreg_step_aside("UCX_" UCP_CACHE_KNOB "=%s keeps UCX's own "
                               "cache on", value);
        return;
    }

    real->ucp_config_modify(config, UCP_CACHE_KNOB, "n");
}

void uct_predreg_md_config(uct_md_config_t *config)
{
    char value[64];

    if (!uct_predreg_is_managing() || is_forced_on() ||
        (uct_predreg_core.real.uct_config_get(config, MD_CACHE_KNOB, value,
                                              sizeof(value)) != UCS_OK)) {
        return; /* Not the ib component */
    }

    if (!strcmp(value, MD_CACHE_DEFAULT)) {
        uct_predreg_core.real.uct_config_modify(config, MD_CACHE_KNOB,
                                                MD_CACHE_OFF);
    } else if (strcmp(value, MD_CACHE_OFF)) {
        uct_predreg_step_aside("UCX_IB_" MD_CACHE_KNOB "=%s chooses other than "
                               MD_CACHE_OFF " registration", value);
    }
}
