/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"

#include <ucs/debug/log_def.h>

#include <stdarg.h>
#include <stdio.h>


_Atomic int uct_predreg_devices;

__thread unsigned uct_predreg_within
        __attribute__((tls_model("initial-exec")));


void uct_predreg_step_aside(uct_predreg_core_t *core, const char *fmt, ...)
{
    char reason[256];
    va_list ap;

    /* Relaxed: of several threads only the one that sets the flag logs the
     * message, and nothing else is read through it */
    if (atomic_exchange_explicit(&core->aside, 1, memory_order_relaxed)) {
        return;
    }

    va_start(ap, fmt);
    vsnprintf(reason, sizeof(reason), fmt, ap);
    va_end(ap);
    ucs_warn("predictive registration steps aside: %s", reason);
}

const uct_predreg_compat_t *
uct_predreg_find_compat(uct_predreg_core_t *core,
                        const uct_predreg_real_t *real)
{
    const uct_predreg_compat_t *compat;
    char reason[128];

    compat = uct_predreg_compat_find(real, reason, sizeof(reason));
    if (compat == NULL) {
        uct_predreg_step_aside(core, "%s", reason);
    }
    return compat;
}

void uct_predreg_ucx_version(const uct_predreg_core_t *core, char *text,
                             size_t max)
{
    unsigned major, minor, release;

    if (core->real.ucp_get_version == NULL) {
        snprintf(text, max, "%u.%u", core->compat->major,
                 core->compat->first_minor);
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
