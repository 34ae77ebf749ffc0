/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "limit.h"

#include <ucs/base/relaxed.h>
#include <ucs/sys/math.h>

/* The processes leave 1/16 of the keys free: another job on the same device would die
 * without a key. 5 % are to stay free at any time, and the processes may exceed the limit a
 * little, see keys.c */
#define FREE_PART 16

/* By which part of the keys the limit rises at a time: one rise reaches the device's own
 * limit. With a smaller part, processes would keep between the two for half a minute, and
 * leave fewer keys free than they say: in a simulation of 2 to 128 processes 34 % of the
 * time with half of this part, 0.1 % with this one */
#define RISE_PART 14

/* Refusals within this time, ns, are one */
#define EPOCH 100000000

/* The least and the longest pause from one rise to the next, ns; and how many times as
 * long it is after a refusal */
#define PAUSE_MIN  1000000000
#define PAUSE_MAX  64000000000
#define PAUSE_GROW 8


/* After a refusal, rises begin later */
static void postpone_rise(ucs_rcache_pred_limit_t *limit, uint64_t now)
{
    uint64_t pause = ucs_relaxed_load(&limit->pause);

    pause = ucs_min(ucs_max(pause * PAUSE_GROW, PAUSE_MIN), PAUSE_MAX);
    ucs_relaxed_store(&limit->pause, pause);
    ucs_relaxed_store(&limit->next_rise, now + pause);
}

/* Raise a number of keys, if there is one. If another process has changed it meanwhile,
 * leave it alone */
static void raise_keys(_Atomic(uint64_t) *number)
{
    uint64_t keys = ucs_relaxed_load(number);

    if (keys != 0) {
        ucs_relaxed_cas(number, &keys, keys + (keys / RISE_PART) + 1);
    }
}

int ucs_rcache_pred_limit_refused(ucs_rcache_pred_limit_t *limit, uint64_t keys,
                                  uint64_t now)
{
    uint64_t lowered = ucs_relaxed_load(&limit->lowered);
    uint64_t old     = ucs_relaxed_load(&limit->keys);

    if ((ucs_relaxed_load(&limit->fixed) != 0) ||
        ((old != 0) && ((keys >= old) || (now < lowered + EPOCH)))) {
        return 0;
    }

    /* Of several processes one sets the limit: the others see that it has changed */
    if (!ucs_relaxed_cas(&limit->keys, &old, ucs_max(keys, 1ul))) {
        return 0;
    }

    ucs_relaxed_store(&limit->lowered, now);
    postpone_rise(limit, now);
    return old == 0;
}

/* @return how many of the keys of a device the processes may have, so that 1/FREE_PART stays
 * free for other jobs; UINT64_MAX if the number of keys is not known, which 0 says */
static uint64_t leave_free(uint64_t keys)
{
    return (keys == 0) ? UINT64_MAX : (keys - (keys / FREE_PART));
}

void ucs_rcache_pred_limit_lack(ucs_rcache_pred_limit_t *limit, uint64_t now)
{
    uint64_t next  = ucs_relaxed_load(&limit->next_rise);
    uint64_t pause = ucs_max(ucs_relaxed_load(&limit->pause) / 2, PAUSE_MIN);

    if ((ucs_rcache_pred_limit_get(limit) == UINT64_MAX) || (now < next) ||
        !ucs_relaxed_cas(&limit->next_rise, &next, now + pause)) {
        return;
    }

    ucs_relaxed_store(&limit->pause, pause);
    /* The one that the processes have reached: the other one would rise without end */
    raise_keys((leave_free(ucs_relaxed_load(&limit->keys)) <=
                leave_free(ucs_relaxed_load(&limit->known))) ?
               &limit->keys : &limit->known);
}

void ucs_rcache_pred_limit_forget(ucs_rcache_pred_limit_t *limit)
{
    ucs_relaxed_store(&limit->keys, 0);
    ucs_relaxed_store(&limit->pause, 0);
    ucs_relaxed_store(&limit->fixed, 0);
    ucs_relaxed_store(&limit->known, 0);
}

void ucs_rcache_pred_limit_know(ucs_rcache_pred_limit_t *limit, uint64_t keys,
                                uint64_t now)
{
    uint64_t old = ucs_relaxed_load(&limit->known);

    ucs_relaxed_store(&limit->known, ucs_max(keys, 1ul));
    if ((old == 0) || (keys < old)) {
        postpone_rise(limit, now);
    }
}

void ucs_rcache_pred_limit_fix(ucs_rcache_pred_limit_t *limit, uint64_t keys)
{
    ucs_relaxed_store(&limit->fixed, keys);
}

uint64_t ucs_rcache_pred_limit_get(const ucs_rcache_pred_limit_t *limit)
{
    uint64_t fixed   = ucs_relaxed_load(&limit->fixed);
    uint64_t learned = leave_free(ucs_relaxed_load(&limit->keys));
    uint64_t known   = leave_free(ucs_relaxed_load(&limit->known));

    return (fixed != 0) ? fixed : ucs_min(learned, known);
}
