/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef IN_MALLOC_H_
#define IN_MALLOC_H_

#include <stddef.h>

/** @return whether this thread is in malloc() or a function like it. For handlers of
 *          signals. NULL in a program without in_malloc.c. */
int app_is_in_malloc(void) __attribute__((weak, visibility("default")));

#endif
