/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef FAKE_CALLERS_H_
#define FAKE_CALLERS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file fake_callers.h
 *
 * callers.c over a fake dynamic loader, in which each UCX has libraries that
 * call it. The functions have other names than in the library, since the other
 * tests have a fake callers.c.
 */

/** @return an address in a library that calls a UCX.
 *
 * @param [in] ucx      Which UCX; any number.
 * @param [in] library  Which of its libraries, from 1 on; 0: code that was made
 *                      at run time and belongs to none. */
const void *fake_caller(unsigned ucx, unsigned library);

/** Forget all callers and UCXs. */
void fake_callers_reset(void);

/** predreg_find_ucx() and predreg_num_ucx */
unsigned fake_callers_find_ucx(const void *caller);
unsigned fake_callers_num_ucx(void);

/** @return how many callers are remembered. */
unsigned fake_callers_count(void);

/** @return how often the loader was asked for a function so far. Only for tests
 *          with one thread. */
unsigned fake_callers_lookups(void);

END_C_DECLS

#endif
