/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_PAGE_H_
#define UCS_PAGE_H_

#include <stddef.h>
#include <unistd.h>

/** @file page.h
 *
 * The size of a page of this machine, to count pages pinned by the kernel. The
 * cache has its page size as a parameter, since a replay may be of another machine.
 * Any thread may call the function, memory hooks included.
 */

/** @return the size of a page, bytes; 4 KiB on x86, up to 64 KiB on ARM and
 *          POWER. */
static inline size_t ucs_page_size(void)
{
    return sysconf(_SC_PAGESIZE); /* Cannot fail: libc has it from the kernel's
                                     auxiliary vector */
}

#endif
