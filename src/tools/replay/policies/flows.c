/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <ucs/sys/math.h>


static void flow_main(void *arg)
{
    predreg_flow_t *flow = arg;

    flow->func(flow->arg);
    flow->time = UINT64_MAX;
    predreg_coroutine_suspend(flow->coroutine);
}

/* Let the flow with the earliest time run until it would pass the time of another one.
 * @return 0 if all flows have ended. */
static int run_first(predreg_flow_t *flows, size_t num)
{
    predreg_flow_t *first = NULL;
    uint64_t limit        = UINT64_MAX;
    size_t i;

    for (i = 0; i < num; ++i) {
        if ((first == NULL) || (flows[i].time < first->time)) {
            limit = (first == NULL) ? limit : first->time;
            first = &flows[i];
        } else {
            limit = ucs_min(limit, flows[i].time);
        }
    }

    if ((first == NULL) || (first->time == UINT64_MAX)) {
        return 0;
    }

    first->limit = limit;
    predreg_coroutine_resume(first->coroutine);
    return 1;
}

void predreg_flows_run(predreg_flow_t *flows, size_t num)
{
    size_t i;

    for (i = 0; i < num; ++i) {
        flows[i].time      = flows[i].start;
        flows[i].coroutine = predreg_coroutine_create(flow_main, &flows[i]);
    }

    while (run_first(flows, num)) {
    }

    for (i = 0; i < num; ++i) {
        predreg_coroutine_destroy(flows[i].coroutine);
    }
}

void predreg_flow_reach(predreg_flow_t *flow, uint64_t time)
{
    flow->time = flow->start + time;
    if (flow->time > flow->limit) {
        predreg_coroutine_suspend(flow->coroutine);
    }
}
