/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "way_access.h"

#include <ucp/api/ucp.h>

/* They are in a library that needs UCP */
#define ucp_fh_is_multi test_is_multi

#include <ucp/windows/way.c>


/* Of the worker that is added */
static ucs_thread_mode_t mode_of_all;


int ucp_fh_is_multi(ucp_worker_h worker)
{
    return mode_of_all == UCS_THREAD_MODE_MULTI;
}

/* No endpoint is added here */

void ucp_fh_way_init(ucp_fh_way_t *way, ucp_fh_ways_t *ways, ucp_worker_h worker,
                     ucp_ep_h ep, int is_multi, void (*flushed)(ucp_fh_way_t*))
{
    abort();
}

void ucp_fh_way_flushed(ucp_fh_t *fh, ucp_fh_way_t *way)
{
    abort();
}

void test_win_reset(void)
{
    ucp_win_worker_t *worker;

    if (ucp_win.workers.next == NULL) {
        ucs_list_head_init(&ucp_win.workers);
    }
    while (!ucs_list_is_empty(&ucp_win.workers)) {
        worker = ucs_list_head(&ucp_win.workers, ucp_win_worker_t, link);
        ucp_win_worker_remove(worker->worker);
    }
    ucp_win.hides_multi = 0;
}

void test_win_context_add(ucp_context_h context, int is_shared)
{
    ucp_win_context_add(context, is_shared);
}

void test_win_worker_add(ucp_context_h context, ucp_worker_h worker,
                         ucs_thread_mode_t mode)
{
    mode_of_all = mode;
    ucp_win_worker_add(context, worker);
}

int test_win_is_usable(ucp_context_h context, ucp_worker_h worker)
{
    int is_usable = 0;
    unsigned i    = 0;
    ucp_win_worker_t *found;

    for (; (found = ucp_win_worker_get(context, i)) != NULL; ++i) {
        is_usable |= (found->worker == worker);
        ucp_win_worker_put(found);
    }
    return is_usable;
}
