/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_IFACE_H_
#define TEST_NATIVE_IFACE_H_

#include <uct/api/uct.h>

/** @file iface.h
 *
 * Gives an interface of cma what an interface of an adapter has besides: puts
 * and gets that copy, and need no registered memory. The library under test
 * registers a message piece by piece only where they exist. UCP does not use
 * them itself, since it looks for short puts as well. With NATIVE_ONE_SIDED=1
 * it finds these, and its own puts and gets go through cma, without help of
 * the target.
 */

/** Complete an interface of cma that was just opened. Any thread may call
 *  this. */
void iface_complete(uct_iface_h iface);

#endif
