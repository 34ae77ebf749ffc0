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
 * A second flow of control within one thread. The program itself, and not a
 * scheduler, decides which of the two runs.
 */

typedef struct predreg_coroutine predreg_coroutine_t;


/** Make a flow, which does not run before it is resumed for the first time.
 *  @param [in] func  Function that it runs; must not return.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_coroutine_create(void (*func)(void *arg), void *arg,
                                      predreg_coroutine_t **coroutine_p);

/** Give up a flow, wherever it stands. Not to be called by that flow itself. */
void predreg_coroutine_destroy(predreg_coroutine_t *coroutine);

/** Let a flow run until it suspends itself. Not to be called by that flow
 *  itself. */
void predreg_coroutine_resume(predreg_coroutine_t *coroutine);

/** Suspend the flow. Only the flow itself may call this. Its caller goes on
 *  where it resumed the flow; this function returns when the flow is resumed
 *  again. */
void predreg_coroutine_suspend(predreg_coroutine_t *coroutine);

END_C_DECLS

#endif
