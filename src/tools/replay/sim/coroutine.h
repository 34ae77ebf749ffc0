/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COROUTINE_H_
#define PREDREG_COROUTINE_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file coroutine.h
 *
 * A second flow of control within one thread, so that which of the two runs is
 * never up to a scheduler.
 */

typedef struct predreg_coroutine predreg_coroutine_t;


/** A flow that stands still until it is resumed for the first time.
 *  @param [in] func  What it does; must not return.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_coroutine_create(void (*func)(void *arg), void *arg,
                                      predreg_coroutine_t **coroutine_p);

/** Give up a flow, wherever it stands. Not to be called by that flow itself. */
void predreg_coroutine_destroy(predreg_coroutine_t *coroutine);

/** Let a flow run until it suspends itself. Not to be called by that flow
 *  itself. */
void predreg_coroutine_resume(predreg_coroutine_t *coroutine);

/** Called by the flow itself: go on where it was resumed. Returns when it is
 *  resumed again. */
void predreg_coroutine_suspend(predreg_coroutine_t *coroutine);

END_C_DECLS

#endif
