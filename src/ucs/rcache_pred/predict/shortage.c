/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "shortage.h"

#include <ucs/sys/math.h>

#include <math.h>

/* In this time, ns, the part makes up for 1 - 1/e of its difference from the waits: an
 * iteration or two of a program that computes for a second between its messages. With 5e9 the
 * program test/apps/pressure took 17 s in place of 10 to 13, see docs/benchmarks.md */
#define FOLLOW_TIME 2e9

/* Memory is short from the first part of the time on in which processes wait, and until they
 * wait for less than the second one */
#define SHORT_BEGIN 0.01
#define SHORT_END   0.002


void ucs_rcache_pred_shortage_update(ucs_rcache_pred_shortage_t *shortage, double waits,
                                     unsigned procs, double own, double elapsed)
{
    double lost, follow;

    if (elapsed <= 0) {
        return;
    }

    lost             = ucs_max((waits / procs) - (own / elapsed), 0.);
    follow           = 1 - exp(-elapsed / FOLLOW_TIME);
    shortage->part  += (lost - shortage->part) * follow;
    shortage->waits += (waits - shortage->waits) * follow;
    if (shortage->waits >= SHORT_BEGIN) {
        shortage->is_short = 1;
    } else if (shortage->waits < SHORT_END) {
        shortage->is_short = 0;
    }
}
