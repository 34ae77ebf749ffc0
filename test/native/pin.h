/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_PIN_H_
#define TEST_NATIVE_PIN_H_

#include <ucs/type/status.h>

#include <stddef.h>

/** @file pin.h
 *
 * What stands in for an adapter: it pins memory through io_uring, and then keeps
 * the caller busy for as long as an adapter would have taken, see
 * NATIVE_ADAPTER_COST in README.md.
 *
 * Any thread may call these functions. A forked child starts with nothing.
 */

/** Memory that is pinned. */
typedef struct pin pin_t;


/** Get ready to pin, which takes longer than a registration may. The next
 *  function does this, too, if it was not done in this process. If memory cannot
 *  be pinned here, this says so and ends the process. */
void pin_start(void);

/**
 * Pin memory.
 *
 * @param silent  A failure is no error that UCX should report.
 *
 * @return UCS_OK; UCS_ERR_IO_ERROR otherwise, and errno says why, as after a
 *         failed registration by verbs.
 */
ucs_status_t pin_memory(void *address, size_t length, int silent,
                        pin_t **pin_p);

/** Release what was pinned. If that fails, it stays pinned. What a forked child
 *  has got from its parent is the parent's, and is left alone. */
ucs_status_t pin_release(pin_t *pin);

#endif
