/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "core_access.h"

#include <uct/ib/predreg/core/live.h>
#include <uct/ib/predreg/core/seat.h>
#include <uct/ib/predreg/core/state.h>
#include <uct/ib/predreg/md/domain.h>
#include <uct/ib/predreg/md/foreign.h>
#include <uct/ib/predreg/md/register.h>

#include <string.h>
#include <unistd.h>


void test_core_init(void)
{
    uct_predreg_knobs_cleanup(&uct_predreg_core.knobs);
    memset(&uct_predreg_core, 0, sizeof(uct_predreg_core));
    pthread_mutex_init(&uct_predreg_core.lock, NULL);
    uct_predreg_knobs_default(&uct_predreg_core.knobs);
    uct_predreg_core.compat = uct_predreg_compat_built_for();
    uct_predreg_core.rank   = -1;
    uct_predreg_core.pid    = getpid();
    uct_predreg_domains_reset();
    uct_predreg_foreign_reset();
    atomic_store(&uct_predreg_devices, 0);
}

void test_core_cleanup(void)
{
    /* The helper publishes the live counters */
    if (uct_predreg_core.pred != NULL) {
        ucs_rcache_pred_thread_stop(uct_predreg_core.thread);
        ucs_rcache_pred_destroy(uct_predreg_core.pred);
        uct_predreg_core.pred = NULL;
    }

    if (uct_predreg_core.live != NULL) {
        uct_predreg_live_stop();
        ucs_rcache_pred_live_destroy(uct_predreg_core.live);
    }

    uct_predreg_node_leave();
    if (uct_predreg_core.recorder != NULL) {
        ucs_rcache_recorder_stop(uct_predreg_core.recorder);
        ucs_rcache_recorder_finish(uct_predreg_core.recorder);
        ucs_rcache_recorder_destroy(uct_predreg_core.recorder);
    }

    if (uct_predreg_core.thread != NULL) {
        ucs_rcache_pred_thread_destroy(uct_predreg_core.thread);
    }

    test_core_init();
}

uct_predreg_knobs_t *test_core_knobs(void)
{
    return &uct_predreg_core.knobs;
}

uct_predreg_real_t *test_core_real(void)
{
    return &uct_predreg_core.real;
}

void test_core_set_rank(int rank)
{
    uct_predreg_core.rank = rank;
}

void test_core_set_pid(pid_t pid)
{
    uct_predreg_core.pid = pid;
}

void test_core_set_pools(uint64_t bytes)
{
    atomic_store(&uct_predreg_core.pool_bytes, bytes);
}

void test_core_set_opened(unsigned count)
{
    uct_predreg_core.num_opened = count;
}

void test_core_set_fenced_puts(int fenced)
{
    atomic_store(&uct_predreg_core.fenced_puts, fenced);
}

int test_core_fenced_puts(void)
{
    return atomic_load(&uct_predreg_core.fenced_puts);
}

int test_core_is_aside(void)
{
    return atomic_load(&uct_predreg_core.aside);
}

unsigned test_core_num_managed(void)
{
    return atomic_load(&uct_predreg_core.num_managed);
}

unsigned test_core_num_opened(void)
{
    return uct_predreg_core.num_opened;
}

uint64_t test_core_kernel_pinned(void)
{
    return atomic_load(&uct_predreg_core.kernel_pinned);
}

ucs_rcache_pred_t *test_core_pred(void)
{
    return uct_predreg_core.pred;
}

int test_core_has_node(void)
{
    return uct_predreg_node() != NULL;
}

int test_core_has_recorder(void)
{
    return uct_predreg_core.recorder != NULL;
}

int test_core_read_live(uint64_t *uses_p, char *command, size_t max)
{
    ucs_rcache_pred_live_state_t record;
    unsigned version;

    if ((uct_predreg_core.live == NULL) ||
        (ucs_rcache_pred_live_read(
                 ucs_rcache_pred_live_get_fd(uct_predreg_core.live),
                 &record, &version) != UCS_OK)) {
        return 0;
    }

    *uses_p = record.snapshot.stats.uses;
    strncpy(command, record.command, max - 1);
    command[max - 1] = '\0';
    return 1;
}
