/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMPLETION_H_
#define UCT_PREDREG_COMPLETION_H_

#include <uct/api/uct.h>

/** @file completion.h
 *
 * UCX does not install its own function that completes an operation.
 */

/**
 * One of the operations that a completion counts has ended. The first error is
 * kept, and the last one to end calls back; the completion may be gone then.
 */
static inline void
uct_predreg_completion_invoke(uct_completion_t *comp, ucs_status_t status)
{
    if ((status != UCS_OK) && (comp->status == UCS_OK)) {
        comp->status = status;
    }

    if (--comp->count == 0) {
        comp->func(comp);
    }
}

#endif
