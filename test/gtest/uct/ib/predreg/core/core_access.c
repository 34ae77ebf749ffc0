/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_access.h"

#include <tools/predreg/stat/stat.h>
#include <ucs/host/unwind.h>
#include <uct/ib/predreg/addons.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/entry.h>
#include <uct/ib/predreg/firehose/firehose.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/md.h>
#include <uct/ib/predreg/record/record.h>
#include <uct/ib/predreg/stat/stat.h>

#include <string.h>
#include <unistd.h>


/* A state of the core for tests, in place of the state of the process */
static uct_predreg_core_t own = UCT_PREDREG_CORE_INITIALIZER;

static uct_predreg_core_t *self = &own;


uct_predreg_core_t *test_core_state(void)
{
    return self;
}

void test_core_select(int is_process)
{
    self = is_process ? &uct_predreg_core : &own;
}

/* A libuct with this function, but without those of later versions, is that of UCX 1.13 */
static ucs_status_t pack(uct_md_h md, uct_mem_h memh, uintptr_t arg2,
                         uintptr_t arg3, uintptr_t arg4, uintptr_t arg5)
{
    return UCS_ERR_UNSUPPORTED;
}

static ucs_status_t no_components(uct_component_h **components_p,
                                  unsigned *count_p)
{
    return UCS_ERR_UNSUPPORTED;
}

void test_core_init(void)
{
    uct_predreg_knobs_cleanup(&self->knobs);
    ucs_callpath_table_destroy(self->paths);
    memset(self, 0, sizeof(*self));
    ucs_mutex_init(&self->lock, UCS_RANK_CORE, 0);
    uct_predreg_knobs_default(&self->knobs);
    self->addons                   = uct_predreg_addons;
    self->compat                   = uct_predreg_compat_select(1, 13);
    self->rank                     = -1;
    self->pid                      = getpid();

    self->real.uct_md_mkey_pack_v2  = pack;
    self->real.uct_query_components = no_components;
    atomic_store(&self->ucp_cache_is_off, 0);
    uct_predreg_domains_reset();
    uct_predreg_foreign_reset();
    uct_predreg_firehose_addon.fork_child(self);
    atomic_store(&uct_predreg_devices, 0);
}

void test_core_cleanup(void)
{
    /* The helper publishes the live counters */
    if (self->pred != NULL) {
        (void)ucs_rcache_pred_thread_stop(self->thread, UINT64_MAX / 2);
        ucs_rcache_pred_destroy(self->pred);
        self->pred = NULL;
    }

    if (self->live != NULL) {
        uct_predreg_live_stop(self);
        ucs_rcache_pred_live_destroy(self->live);
    }

    uct_predreg_node_leave();
    ucs_rcache_recorder_t *recorder = uct_predreg_recorder(self);
    if (recorder != NULL) {
        ucs_rcache_recorder_stop(recorder);
        ucs_rcache_recorder_finish(recorder);
        ucs_rcache_recorder_destroy(recorder);
    }

    if (self->thread != NULL) {
        ucs_rcache_pred_thread_destroy(self->thread);
    }

    test_core_init();
}

void test_core_count_firehose(uint64_t requests, uint64_t hits)
{
    uct_predreg_firehose_count(requests, hits);
}

ucs_status_t test_core_make_paths(void)
{
    return ucs_callpath_table_create(&ucs_host_callpath_ops, &self->paths);
}

void test_core_set_ucx(unsigned minor)
{
    self->compat = uct_predreg_compat_select(1, minor);
}

int test_core_read_live(uint64_t *uses_p, char *command, size_t max)
{
    ucs_rcache_pred_live_state_t record;
    unsigned version;

    if ((self->live == NULL) ||
        (predreg_stat_read(
                 ucs_rcache_pred_live_get_fd(self->live),
                 &record, &version) != UCS_OK)) {
        return 0;
    }

    *uses_p = record.snapshot.stats.uses;
    strncpy(command, record.command, max - 1);
    command[max - 1] = '\0';
    return 1;
}

void test_core_settings_of(const char *component,
                           uct_predreg_settings_t *settings)
{
    uct_predreg_settings_of(self->settings, self->num_settings, component,
                            settings);
}
