/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_reg.h"
#include "uring_reg.h"

#include <stdint.h>

#define HANDLE_SIZE 64


/* The last handle that was given out; 0: memory is registered. Only one thread
 * registers */
static uintptr_t last_handle;


void bench_reg_pretend(void)
{
    last_handle = HANDLE_SIZE;
}

ucs_status_t bench_reg(void *address, size_t length, void **handle_p)
{
    if (last_handle == 0) {
        return uring_reg(address, length, handle_p);
    }

    last_handle += HANDLE_SIZE;
    *handle_p    = (void*)last_handle;
    return UCS_OK;
}

ucs_status_t bench_dereg(void *handle)
{
    return (last_handle == 0) ? uring_dereg(handle) : UCS_OK;
}
