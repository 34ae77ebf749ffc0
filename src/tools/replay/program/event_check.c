/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "event_check.h"

#include <stddef.h>

/* The longest time from the first event to the last one, ns: 146 years. Under
 * another policy the program may take longer by the time that it waits */
#define MAX_SPAN    ((uint64_t)INT64_MAX / 2)


const char *predreg_event_check(const ucs_rcache_pred_event_t *event,
                                uint64_t origin, uint64_t previous)
{
    int memory = ((event->type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
                  (event->type == UCS_RCACHE_PRED_EVENT_REG) ||
                  (event->type == UCS_RCACHE_PRED_EVENT_DEREG)) &&
                 !(event->result & UCS_RCACHE_PRED_RESULT_FAILED);

    if (event->time < previous) {
        return "is earlier than the one before it";
    }

    if (event->time - origin > MAX_SPAN) {
        return "is more than 146 years after the first one";
    }

    if (event->duration > MAX_SPAN - (event->time - origin)) {
        return "lasts beyond 146 years after the first one";
    }

    if (memory && (event->length == 0)) {
        return "is of no memory";
    }

    if (memory &&
        ((event->length > PREDREG_MAX_ADDRESS) ||
         (event->address > PREDREG_MAX_ADDRESS - event->length))) {
        return "is of memory beyond the end of the address space";
    }

    if (event->kind >= UCS_RCACHE_PRED_USE_LAST) {
        return "is of a use of unknown kind";
    }

    return NULL;
}
