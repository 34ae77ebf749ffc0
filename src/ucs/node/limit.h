/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_LIMIT_H_
#define UCS_RCACHE_PRED_LIMIT_H_

#include <stdatomic.h>
#include <stdint.h>

/** @file limit.h
 *
 * How many keys a device has, as its refusals have told: nobody can state the number
 * beforehand, since it depends on sizes, firmware and on who else uses the device
 * (openucx/ucx issue 6264). The number is advice: what has to be registered is registered
 * beyond it, too.
 *
 * A refusal sets the number to the keys that there were then. Processes keep 1/16 below
 * the number. While processes lack keys, one of them at a time raises the number by 1/14:
 * after one rise they meet the device's own limit again, and soon keep below it. The pause
 * before the next rise is eight times as long after a refusal and half as long after a rise,
 * so that refusals become rarer, down to one in 64 s. When another job has given its keys
 * back, the number rises faster with each step.
 *
 * The functions take the time, ns, and no lock: any number of processes may call them at a
 * time. A limit that is all zeros is one that nobody has learned.
 */
typedef struct ucs_rcache_pred_limit {
    /** The keys that there were at the last refusal, and the rises since; 0: none was
     *  learned. All fields are relaxed: each is a number by itself, and who sees an old one
     *  keeps to an old limit */
    _Atomic(uint64_t) keys;
    _Atomic(uint64_t) lowered;   /**< When keys was last set by a refusal */
    _Atomic(uint64_t) next_rise; /**< When keys may rise next */
    _Atomic(uint64_t) pause;     /**< From one rise to the next, ns */
    _Atomic(uint64_t) fixed;     /**< Not 0: the user says how many keys there may be, and
                                      nothing is learned */
    _Atomic(uint64_t) known;     /**< How many there may be, as the kernel says, and the
                                      rises since; 0: it says nothing */
} ucs_rcache_pred_limit_t;


/**
 * A registration was refused, and giving up another one has cured that: there are no more
 * keys than @a keys. All refusals within a tenth of a second count as one, since several
 * processes are refused for the same lack.
 *
 * @return whether it is the first one: nothing had been learned before.
 */
int ucs_rcache_pred_limit_refused(ucs_rcache_pred_limit_t *limit, uint64_t keys,
                                  uint64_t now);

/** A process lacks keys: raise the limit, if a rise is due. */
void ucs_rcache_pred_limit_lack(ucs_rcache_pred_limit_t *limit, uint64_t now);

/** Set how many keys there may be at a time, instead of learning it. */
void ucs_rcache_pred_limit_fix(ucs_rcache_pred_limit_t *limit, uint64_t keys);

/** Keep below a number of keys as well that the kernel says, and leave 1/16 of that, too. The
 *  last process that asks the kernel decides. The number rises as one that was learned: what
 *  others have of the kernel's limit may have become less. */
void ucs_rcache_pred_limit_know(ucs_rcache_pred_limit_t *limit, uint64_t keys,
                                uint64_t now);

/** Forget the learned number, the number of the kernel, and the number of the user. */
void ucs_rcache_pred_limit_forget(ucs_rcache_pred_limit_t *limit);

/** @return how many keys there may be at a time; UINT64_MAX if nobody knows. */
uint64_t ucs_rcache_pred_limit_get(const ucs_rcache_pred_limit_t *limit);

#endif
