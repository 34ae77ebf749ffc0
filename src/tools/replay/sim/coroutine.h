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


/** @param [in] func  Run by the first resumption; does not return. */
ucs_status_t predreg_coroutine_create(void (*func)(void *arg), void *arg,
                                      predreg_coroutine_t **coroutine_p);

/** Not from within. It stays where it is for good. */
void predreg_coroutine_destroy(predreg_coroutine_t *coroutine);

/** Let it run until it suspends itself. Not from within. */
void predreg_coroutine_resume(predreg_coroutine_t *coroutine);

/** From within: go on where it was resumed. Returns when it is again. */
void predreg_coroutine_suspend(predreg_coroutine_t *coroutine);

END_C_DECLS

#endif
