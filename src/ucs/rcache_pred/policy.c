/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policy.h"

#include <ucs/sys/math.h>


static ucs_rcache_pred_time_t time_sub(ucs_rcache_pred_time_t a,
                                       ucs_rcache_pred_time_t b)
{
    return (a > b) ? (a - b) : 0;
}

int ucs_rcache_pred_may_deregister(const ucs_rcache_pred_times_t *times,
                                   ucs_rcache_pred_time_t now,
                                   ucs_rcache_pred_time_t deadline)
{
    ucs_rcache_pred_time_t t_p = times->dereg + times->dq_item + times->reg +
                                 times->rq_item + times->wakeup;

    return (deadline == UCS_RCACHE_PRED_TIME_INF) || (now + t_p <= deadline);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_due_time(const ucs_rcache_pred_times_t *times,
                         ucs_rcache_pred_time_t deadline)
{
    return time_sub(deadline, times->dq_item + times->dereg + times->reg +
                              times->rq_item + times->wakeup);
}

ucs_rcache_pred_time_t
ucs_rcache_pred_spacing(const ucs_rcache_pred_times_t *times)
{
    return times->rq_item + times->reg + times->dq_item + times->dereg;
}

void ucs_rcache_pred_space_deadlines(ucs_list_link_t *queue,
                                     ucs_rcache_pred_timeq_elem_t *elem,
                                     ucs_rcache_pred_time_t gap)
{
    ucs_rcache_pred_timeq_elem_t *prev;

    while (elem->list.prev != queue) {
        prev = ucs_container_of(elem->list.prev, ucs_rcache_pred_timeq_elem_t,
                                list);
        if (prev->time + gap <= elem->time) {
            break;
        }

        prev->time = time_sub(elem->time, gap);
        elem       = prev;
    }
}
