/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 *
 * Tells the handler of a signal whether it has interrupted its thread in malloc(). All
 * libraries of a program that has this file come to these functions in place of
 * glibc's, also those that were loaded before. Not for a program under a sanitizer,
 * which has functions of its own.
 */

#include "in_malloc.h"

#include <errno.h>
#include <signal.h>

#pragma GCC visibility push(default)

/* What glibc's functions are called besides (malloc/malloc.c of it) */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t num, size_t size);
void *__libc_realloc(void *address, size_t size);
void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *address);

/* How deep this thread is in them. Written by the thread, read by its handlers */
static __thread volatile sig_atomic_t depth;


int app_is_in_malloc(void)
{
    return depth > 0;
}

void *malloc(size_t size)
{
    void *address;

    ++depth;
    address = __libc_malloc(size);
    --depth;
    return address;
}

void *calloc(size_t num, size_t size)
{
    void *address;

    ++depth;
    address = __libc_calloc(num, size);
    --depth;
    return address;
}

void *realloc(void *address, size_t size)
{
    ++depth;
    address = __libc_realloc(address, size);
    --depth;
    return address;
}

void *memalign(size_t align, size_t size)
{
    void *address;

    ++depth;
    address = __libc_memalign(align, size);
    --depth;
    return address;
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **address_p, size_t align, size_t size)
{
    void *address = memalign(align, size);

    if (address == NULL) {
        return ENOMEM;
    }

    *address_p = address;
    return 0;
}

void free(void *address)
{
    ++depth;
    __libc_free(address);
    --depth;
}

#pragma GCC visibility pop
