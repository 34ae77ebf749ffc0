/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "addons.h"

#include <uct/ib/predreg/arena/addon.h>
#include <uct/ib/predreg/core/addon.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/eager/eager.h>
#include <uct/ib/predreg/firehose/firehose.h>
#include <uct/ib/predreg/lean/lean.h>
#include <uct/ib/predreg/record/record.h>

#include <ucs/debug/log_def.h>

#include <stddef.h>


/* Warn of each setting of the user for an add-on left out of the library by configure
 * (PREDREG_WITH_*) */
static void
start_absent(uct_predreg_core_t *core, uct_predreg_hooks_t *hooks, ucs_status_t events)
{
    const uct_predreg_knobs_t *knobs = &core->knobs;
    const struct {
        const char *name;
        int        is_set;
    } absent[] = {
        {"EAGER", !PREDREG_WITH_EAGER && knobs->eager},
        {"ARENA", !PREDREG_WITH_ARENA && (knobs->arena > 0)},
        {"WINDOWS", !PREDREG_WITH_FIREHOSE &&
                    (knobs->windows == UCT_PREDREG_WINDOWS_FIREHOSE)}
    };
    size_t i;

    for (i = 0; i < ucs_static_array_size(absent); ++i) {
        if (absent[i].is_set) {
            ucs_warn("UCX_RCACHE_PRED_%s is ignored: this library was built without it",
                     absent[i].name);
        }
    }
}

static const uct_predreg_addon_t absent = {
    .start = start_absent
};

const uct_predreg_addon_t *const uct_predreg_addons[] = {
    &absent,
#if PREDREG_WITH_EAGER
    &uct_predreg_eager_addon,
#endif
#if PREDREG_WITH_ARENA
    &uct_predreg_arena_addon,
#endif
#if PREDREG_WITH_FIREHOSE
    &uct_predreg_firehose_addon,
#endif
#if PREDREG_WITH_EAGER
    &uct_predreg_sends_addon,
#endif
    &uct_predreg_record_addon,
    &uct_predreg_lean_addon,
    NULL
};
