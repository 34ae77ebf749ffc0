/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "waits.h"

#include <ucs/sys/math.h>


void predreg_waits_init(predreg_waits_t *waits, uint64_t origin)
{
    *waits = (predreg_waits_t){ .origin = origin, .until = origin };
}

uint64_t predreg_waits_time(const predreg_waits_t *waits, uint64_t time)
{
    /* If another thread is still in a wait, the rest of that wait lies after
     * this event */
    uint64_t rest = ucs_max(waits->until, time) - time;

    return time - waits->origin - (waits->sum - rest);
}

void predreg_waits_add(predreg_waits_t *waits, uint64_t time, uint64_t duration)
{
    uint64_t begin = ucs_max(waits->until, time);

    if (time + duration > begin) {
        waits->sum   += time + duration - begin;
        waits->until  = time + duration;
    }
}
