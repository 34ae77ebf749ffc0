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
 * Completes an operation as UCX does. UCX does not install the header with its
 * own function for it.
 */

/**
 * Tell a completion that one of the operations it counts has ended. It keeps
 * the first error. When the last operation ends, the user's function is called,
 * which may free the completion.
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
