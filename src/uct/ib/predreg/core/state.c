/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addon.h"
#include "state.h"

#include <ucs/base/number.h>

#include <ucs/debug/log_def.h>

#include <stdio.h>


const uct_predreg_addon_t *const uct_predreg_no_addons[] = {NULL};

_Atomic(int) uct_predreg_devices;

__thread unsigned uct_predreg_within
        __attribute__((tls_model("initial-exec")));


void uct_predreg_step_aside(uct_predreg_core_t *core, uct_predreg_aside_t reason,
                            const char *detail)
{
    int none = UCT_PREDREG_ASIDE_NONE;

    /* Relaxed: of several threads only the setter of the reason logs the message, and
     * nothing else is read through the reason */
    if (ucs_relaxed_cas(&core->aside, &none, reason)) {
        uct_predreg_aside_print(reason, detail, core->why_aside);
        ucs_warn("predictive registration steps aside: %s", core->why_aside);
    }
}

const uct_predreg_compat_t *
uct_predreg_find_compat(uct_predreg_core_t *core,
                        const uct_predreg_real_t *real)
{
    const uct_predreg_compat_t *compat;
    char reason[128];

    compat = uct_predreg_compat_find(real, reason, sizeof(reason));
    if (compat == NULL) {
        uct_predreg_step_aside(core, UCT_PREDREG_ASIDE_VERSION, reason);
    }
    return compat;
}

void uct_predreg_ucx_version(const uct_predreg_core_t *core, char *text,
                             size_t max)
{
    unsigned major, minor, release;

    if (core->real.ucp_get_version == NULL) {
        snprintf(text, max, "1.%u", core->compat->first_minor);
        return;
    }

    core->real.ucp_get_version(&major, &minor, &release);
    snprintf(text, max, "%u.%u.%u", major, minor, release);
}

unsigned uct_predreg_policy(uct_predreg_core_t *core)
{
    return (core->pred == NULL) ? core->knobs.policy :
                                  ucs_rcache_pred_get_policy(core->pred);
}

void uct_predreg_count_passed(uct_predreg_core_t *core)
{
    /* Acquire: pairs with the release in uct_predreg_live_start() */
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    if (live != NULL) {
        ucs_rcache_pred_live_count_use(live);
    } else {
        /* Relaxed: the number of uses guards no other data */
        ucs_relaxed_add(&core->passed_uses, 1);
    }
}

uint64_t uct_predreg_num_passed(uct_predreg_core_t *core)
{
    /* Acquire: pairs with the release in uct_predreg_live_start() */
    ucs_rcache_pred_live_t *live =
            atomic_load_explicit(&core->live, memory_order_acquire);

    /* Relaxed: the number of uses guards no other data */
    return (live != NULL) ? ucs_rcache_pred_live_get_uses(live) :
                            ucs_relaxed_load(&core->passed_uses);
}

void uct_predreg_note_pinned(uct_predreg_core_t *core)
{
    unsigned long kib = 0;

    if ((core->knobs.summary == UCT_PREDREG_SUMMARY_NONE) &&
        (core->observer == NULL)) {
        return;
    }

    (void)ucs_scan_file("", "/proc/self/status", "VmPin: %lu kB", &kib);

    /* Relaxed: the number of bytes guards no other data */
    ucs_relaxed_raise(&core->kernel_pinned, kib * 1024);
}
