/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "system.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>


/* Linux 5.7 */
#ifndef MREMAP_DONTUNMAP
#  define MREMAP_DONTUNMAP 4
#endif

/* Linux 6.1 */
#ifndef MADV_COLLAPSE
#  define MADV_COLLAPSE 25
#endif

/* Private memory without a file */
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)


static void *
sys_mmap(void *address, size_t length, int prot, int flags)
{
    /* The offset is on the stack: the kernel reads more than an int there */
    return (void*)syscall(SYS_mmap, address, length, prot, flags, -1, 0l);
}

int uct_predreg_system_munmap(void *address, size_t length)
{
    return syscall(SYS_munmap, address, length);
}

int uct_predreg_system_madvise(void *address, size_t length, int advice)
{
    return syscall(SYS_madvise, address, length, advice);
}

static void *sys_mremap(void *address, size_t length, size_t new_length,
                        int flags, void *target)
{
    return (void*)syscall(SYS_mremap, address, length, new_length, flags,
                          target);
}

void *uct_predreg_system_move(void *address, size_t length, size_t new_length,
                              void *target)
{
    void *moved, *grown;

    moved = sys_mremap(address, length, length,
                       MREMAP_MAYMOVE | MREMAP_DONTUNMAP |
                       ((target == NULL) ? 0 : MREMAP_FIXED), target);
    if (moved == MAP_FAILED) {
        return NULL;
    }

    if (new_length == length) {
        return moved;
    }

    grown = sys_mremap(moved, length, new_length, MREMAP_MAYMOVE, NULL);
    if (grown == MAP_FAILED) {
        /* Move the memory back. MREMAP_DONTUNMAP has left a mapping at the old addresses,
         * which the memory replaces, so that this move does not fail for lack of room */
        (void)sys_mremap(moved, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
                         address);
        return NULL;
    }
    return grown;
}

void *uct_predreg_system_reserve(size_t length, size_t align)
{
    size_t size = length + align;
    char *start, *first;

    if (size < length) {
        return NULL;
    }

    start = sys_mmap(NULL, size, PROT_NONE, ANONYMOUS | MAP_NORESERVE);
    if (start == MAP_FAILED) {
        return NULL;
    }

    first = (char*)(((uintptr_t)start + (align - 1)) & ~(uintptr_t)(align - 1));
    if (first > start) {
        (void)uct_predreg_system_munmap(start, first - start);
    }
    if (start + size > first + length) {
        (void)uct_predreg_system_munmap(first + length,
                                        start + size - (first + length));
    }
    return first;
}

void *uct_predreg_system_map(void *address, size_t length)
{
    void *result = sys_mmap(address, length, PROT_READ | PROT_WRITE,
                            ANONYMOUS | ((address == NULL) ? 0 : MAP_FIXED));

    return (result == MAP_FAILED) ? NULL : result;
}

void uct_predreg_system_collapse(void *address, size_t length)
{
    (void)uct_predreg_system_madvise(address, length, MADV_HUGEPAGE);
    (void)uct_predreg_system_madvise(address, length, MADV_COLLAPSE);
}

int uct_predreg_system_anew(void *address, size_t length)
{
    return uct_predreg_system_map(address, length) != NULL;
}

int uct_predreg_system_renew(void *address, size_t length)
{
    /* Advice that undoes what madvise() changes. If the kernel does not know one of them,
     * and refuses it, the kernel did not know the advice to be undone either */
    static const int advices[] = {
        MADV_NORMAL, MADV_DOFORK, MADV_KEEPONFORK, MADV_DODUMP,
        MADV_UNMERGEABLE, MADV_HUGEPAGE
    };
    unsigned i;

    /* pkey_mprotect() first: mprotect() does not reset the protection key of memory */
    if ((syscall(SYS_pkey_mprotect, address, length, PROT_READ | PROT_WRITE,
                 0) != 0) &&
        (syscall(SYS_mprotect, address, length, PROT_READ | PROT_WRITE) != 0)) {
        return 0;
    }

    if (syscall(SYS_munlock, address, length) != 0) {
        return 0;
    }

    for (i = 0; i < sizeof(advices) / sizeof(advices[0]); ++i) {
        if ((uct_predreg_system_madvise(address, length, advices[i]) != 0) &&
            (errno != EINVAL)) {
            /* For this advice the kernel has to split a mapping, and the process has as
             * many mappings as it may have */
            return 0;
        }
    }
    return 1;
}

ucs_status_t uct_predreg_system_op_map(void *arg, void *start, size_t length)
{
    return (uct_predreg_system_map(start, length) == NULL) ?
                   UCS_ERR_NO_MEMORY :
                   UCS_OK;
}

ucs_status_t
uct_predreg_system_op_discard(void *arg, void *start, size_t length)
{
    /* The kernel refuses MADV_DONTNEED for locked memory */
    return (uct_predreg_system_madvise(start, length, MADV_DONTNEED) == 0) ?
                   UCS_OK :
                   UCS_ERR_UNSUPPORTED;
}

ucs_status_t uct_predreg_system_op_unmap(void *arg, void *start, size_t length)
{
    return (sys_mmap(start, length, PROT_NONE,
                     ANONYMOUS | MAP_NORESERVE | MAP_FIXED) == MAP_FAILED) ?
                   UCS_ERR_NO_MEMORY :
                   UCS_OK;
}

ucs_status_t uct_predreg_system_op_protect(void *arg, void *start,
                                           size_t length, int is_accessible)
{
    return (syscall(SYS_mprotect, start, length,
                    is_accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0) ?
                   UCS_OK :
                   UCS_ERR_NO_MEMORY;
}

ucs_status_t uct_predreg_system_op_inherit(void *arg, void *start,
                                           size_t length, int is_inherited)
{
    return (uct_predreg_system_madvise(start, length,
                                       is_inherited ? MADV_DOFORK :
                                                      MADV_DONTFORK) == 0) ?
                   UCS_OK :
                   UCS_ERR_NO_MEMORY;
}
