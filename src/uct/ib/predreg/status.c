/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "entry.h"

#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/eager/eager.h>
#include <uct/ib/predreg/md/domain.h>

/*
 * What the core says of itself to a tool in its process, through the preloaded library:
 * see status/aside.h, which has the lines.
 */


typedef struct {
    uct_predreg_tell_t tell;
    void               *arg;
} listener_t;


static void tell_domain(uct_predreg_domain_t *domain, void *arg)
{
    const listener_t *listener = arg;

    if (!uct_predreg_domain_keeps_all(domain)) {
        listener->tell(listener->arg, "managed", domain->name);
    }
}

static void tell_costs(void *arg, const ucs_reuse_costs_t *costs)
{
    const listener_t *listener = arg;
    char text[UCS_REUSE_COSTS_TEXT_MAX];

    ucs_reuse_costs_print(costs, text);
    listener->tell(listener->arg, "small", text);
}

__attribute__((visibility("default"))) void
uct_predreg_core_status(uct_predreg_tell_t tell, void *arg)
{
    uct_predreg_core_t *core = &uct_predreg_core;
    listener_t listener      = {tell, arg};

    uct_predreg_aside_tell(atomic_load(&core->aside), core->why_aside, tell, arg);
    if (core->compat == NULL) {
        return; /* It was not started */
    }

    tell(arg, "policy", ucs_rcache_pred_policy_names[uct_predreg_policy(core)]);
    uct_predreg_domains_for_each(tell_domain, &listener);
    if (core->told_settings[0] != '\0') {
        tell(arg, "settings", core->told_settings);
    }
    uct_predreg_eager_tell_costs(tell_costs, &listener);
}
