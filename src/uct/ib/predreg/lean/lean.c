/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lean.h"

#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/job.h>
#include <uct/ib/predreg/core/state.h>

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/math.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Makes UCX's own pools smaller (UCX_RCACHE_PRED_POOLS=lean). The configuration of a
 * transport is changed when UCX has read it, as are those of UCX's caches
 * (../md/ucx_caches.c), and settings of the user stay as set.
 */

/* Buffers of 8 KB in the receive queues of RC, or of DC, of all processes of a node, while
 * the queue of each process is between the two lengths. The queues have one buffer less
 * than these powers of 2, as UCX's has: an adapter would round the length up */
#define NODE_BUFFERS 65536
#define LEAST_QUEUE  1024
#define STOCK_QUEUE  4096

/* A sender by RC or DC may have this part of the receive queue's messages under way. UCX's
 * 512 are an eighth of its queue. With more, fewer senders than with UCX would fill the
 * queue, and each message beyond would be sent again, after 1 ms */
#define WINDOW_PART  8

/* By how many buffers what a process sends from grows. UCX's 1024 take 10 MB, of which
 * most programs use a few. A huge page, which is what UCX asks for in any case, has 250 */
#define SEND_GROWTH  128


/* The core that the hook works for: a hook gets no state as an argument. Written when the
 * core starts */
static uct_predreg_core_t *core_of_hook;

/* The settings that this add-on has made, and those that it has left alone, as text. Under
 * the lock of the core */
static char told[512];


static int begins_with(const char *text, const char *beginning)
{
    return !strncmp(text, beginning, strlen(beginning));
}

/* @return the length of the receive queue of a transport. That of UD stays as it is: UD
 * drops what finds it full, and no window of UD's keeps to the queue's length */
static unsigned queue_length(const char *transport, unsigned ranks)
{
    unsigned length = STOCK_QUEUE;

    while (!begins_with(transport, "ud_") && (length > LEAST_QUEUE) &&
           (length > NODE_BUFFERS / ranks)) {
        length /= 2;
    }
    return length;
}

/* The defaults are those of UCX 1.13 to 1.23 (ib_iface.c and rc_iface.c) */
unsigned uct_predreg_lean(const char *transport, unsigned ranks,
                          uct_predreg_lean_t settings[UCT_PREDREG_LEAN_MAX])
{
    const unsigned queue = queue_length(transport, ranks);
    const uct_predreg_lean_t all[UCT_PREDREG_LEAN_MAX] = {
        {"RX_QUEUE_LEN", "IB_", STOCK_QUEUE - 1, queue - 1, 1},
        {"FC_WND_SIZE", "RC_", STOCK_QUEUE / WINDOW_PART, queue / WINDOW_PART, 1},
        {"TX_BUFS_GROW", "IB_", 1024, SEND_GROWTH, 0}
    };
    unsigned num = 0;
    unsigned i;

    if (!begins_with(transport, "rc_") && !begins_with(transport, "dc_") &&
        !begins_with(transport, "ud_")) {
        return 0;
    }

    for (i = 0; i < UCT_PREDREG_LEAN_MAX; ++i) {
        if (all[i].lean < all[i].stock) {
            settings[num++] = all[i];
        }
    }
    return num;
}

/* Write the name of the user's variable for a setting of a transport, such as
 * UCX_RC_VERBS_RX_QUEUE_LEN */
static void variable_name(char *name, size_t max, const char *transport,
                          const char *setting)
{
    char *c;

    snprintf(name, max, "UCX_%s_%s", transport, setting);
    for (c = name; *c != '\0'; ++c) {
        *c = toupper((unsigned char)*c);
    }
}

/* Whether the environment has the setting: for the transport, for its family, such as RC,
 * or for all transports of InfiniBand. DC takes the settings of RC as well */
static int is_in_environment(const char *transport, const char *setting)
{
    const char family[] = {transport[0], transport[1], '\0'};
    const char *names[] = {transport, family, "IB",
                           begins_with(transport, "dc_") ? "RC" : "IB"};
    char name[64];
    size_t i;

    for (i = 0; i < ucs_static_array_size(names); ++i) {
        variable_name(name, sizeof(name), names[i], setting);
        if (getenv(name) != NULL) {
            return 1;
        }
    }

    return 0;
}

/* Whether a setting has UCX's default. UCX finds a value by the prefixes of all tables
 * around the setting: those of RC, of DC, of UD by mlx5, and of UD by verbs */
static int is_default(const uct_predreg_real_t *real, uct_iface_config_t *config,
                      const uct_predreg_lean_t *setting)
{
    static const char *const prefixes[] = {"RC_RC_", "DC_RC_", "UD_", ""};
    const char *inner = strcmp(setting->table, "RC_") ? setting->table : "";
    char name[64], value[64];
    size_t i;

    for (i = 0; i < ucs_static_array_size(prefixes); ++i) {
        snprintf(name, sizeof(name), "%s%s%s", prefixes[i], inner, setting->name);
        if (real->uct_config_get(config, name, value, sizeof(value)) == UCS_OK) {
            return strtoul(value, NULL, 10) == setting->stock;
        }
    }

    return 0;
}

/* Whether the user has set a setting */
static int is_users(const uct_predreg_real_t *real, const char *transport,
                    uct_iface_config_t *config, const uct_predreg_lean_t *setting)
{
    return is_in_environment(transport, setting->name) ||
           !is_default(real, config, setting);
}

/* Give a setting of a transport the lean value. @return whether UCX has accepted the value */
static int change(const uct_predreg_real_t *real, uct_iface_config_t *config,
                  const uct_predreg_lean_t *setting)
{
    char name[64], value[16];

    snprintf(name, sizeof(name), "%s%s", setting->table, setting->name);
    snprintf(value, sizeof(value), "%u", setting->lean);
    return real->uct_config_modify(config, name, value) == UCS_OK;
}

/* Note for a tool what became of a setting, once: UCX reads the configuration of a
 * transport for each worker */
static void note(uct_predreg_core_t *core, const char *transport,
                 const uct_predreg_lean_t *setting, int is_set)
{
    size_t length;
    char name[64], text[128];

    variable_name(name, sizeof(name), transport, setting->name);
    if (is_set) {
        snprintf(text, sizeof(text), "%s=%u (UCX: %u)", name, setting->lean,
                 setting->stock);
    } else {
        snprintf(text, sizeof(text), "%s as it is", name);
    }

    uct_predreg_core_lock(core);
    length = strlen(told);
    if (strstr(told, name) == NULL) {
        snprintf(told + length, sizeof(told) - length, "%s%s",
                 (length == 0) ? "" : ", ", text);
    }
    uct_predreg_core_unlock(core);
}

/* Change a configuration of a transport that was just read, but for settings of the user */
static void iface_config(const char *transport, uct_iface_config_t *config)
{
    uct_predreg_core_t *core       = core_of_hook;
    const uct_predreg_real_t *real = &core->real;
    uct_predreg_lean_t settings[UCT_PREDREG_LEAN_MAX];
    int keeps_receive = 0;
    unsigned i, num;
    int is_kept;

    if (ucs_relaxed_load(&core->aside)) {
        return;
    }

    num = uct_predreg_lean(transport, uct_predreg_job_local_size(), settings);
    for (i = 0; i < num; ++i) {
        keeps_receive |= settings[i].is_of_receive &&
                         is_users(real, transport, config, &settings[i]);
    }

    for (i = 0; i < num; ++i) {
        is_kept = settings[i].is_of_receive ?
                  keeps_receive : is_users(real, transport, config, &settings[i]);
        note(core, transport, &settings[i],
             !is_kept && change(real, config, &settings[i]));
    }
}

static void
start(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    told[0] = '\0';
    if (core->knobs.pools == UCT_PREDREG_POOLS_LEAN) {
        core_of_hook        = core;
        hooks->iface_config = iface_config;
    }
}

static void tell_lean(uct_predreg_tell_t tell, void *arg)
{
    char text[sizeof(told) + 32];

    if (told[0] != '\0') {
        snprintf(text, sizeof(text), "%u on this node: %s", uct_predreg_job_local_size(),
                 told);
        tell(arg, "lean", text);
    }
}

const uct_predreg_addon_t uct_predreg_lean_addon = {
    .start = start,
    .tell  = tell_lean
};
