/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served_access.h"

#include <ucs/base/align.h>
#include <ucs/host/thread.h>
#include <uct/ib/predreg/arena/arena.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No memory of a test is as long */
#define MAX_LENGTH (1ul << 40)


/* The time of an arena whose helper thread does not run */
static ucs_rcache_pred_time_t stopped_time;

static ucs_rcache_pred_time_t stopped_clock(void *arg)
{
    return stopped_time;
}

ucs_status_t served_make(size_t size, size_t slab_size, size_t min_length,
                         int is_strict, unsigned access,
                         const test_served_ops_t *ops,
                         uct_predreg_arena_t **served_p)
{
    uct_predreg_arena_params_t params = {
        .size       = size,
        .slab_size  = slab_size,
        .first_slab = slab_size,
        .min_length = min_length,
        .is_strict  = is_strict,
        .flags      = access,
        .access     = access,
        .publish    = ops->publish,
        .attract    = ops->attract,
        .ops        = {
            .mem_reg   = ops->mem_reg,
            .mem_dereg = ops->mem_dereg,
            .reserve   = ops->reserve,
            .release   = ops->release,
            .arg       = ops->arg
        }
    };

    ucs_status_t status;

    status = uct_predreg_arena_create(&params, served_p);
    if (status == UCS_OK) {
        stopped_time            = ucs_rcache_pred_thread_now(
                (*served_p)->thread);
        (*served_p)->served.now = stopped_clock;
    }
    return status;
}

void served_set_back(uint64_t by)
{
    stopped_time -= by;
}

ucs_status_t served_start(uct_predreg_arena_t *served)
{
    served->served.now = ucs_rcache_pred_thread_now;
    return uct_predreg_arena_start(served);
}

void served_stop(uct_predreg_arena_t *served)
{
    uct_predreg_arena_stop(served, UINT64_MAX / 4);
}

ucs_arena_time_t served_tend(uct_predreg_arena_t *served, ucs_arena_time_t later)
{
    return ucs_arena_tend(served->served.arena,
                          uct_predreg_served_time(&served->served) + later);
}

int served_has(uct_predreg_arena_t *served, const void *address)
{
    uintptr_t start = (uintptr_t)address;
    uintptr_t end   = start + 1;

    return ucs_arena_slabs_clip(&served->served.arena->slabs, &start, &end);
}

void *served_mmap(uct_predreg_arena_t *served, void *address, size_t length,
                  int prot, int flags, int fd)
{
    void *result;

    if (*served->is_here &&
        uct_predreg_arena_mmap(&served->served, address, length, prot, flags,
                               &result)) {
        return result;
    }
    /* The offset is on the stack: the kernel reads more than an int there */
    return (void*)syscall(SYS_mmap, address, length, prot, flags, fd, 0l);
}

/* By the function munmap(), the thread sanitizer forgets who has read the memory,
 * which another thread may get as soon as it is unmapped. It does not bear what
 * the kernel is to refuse */
static int is_plain(const void *address, size_t length)
{
    return ((uintptr_t)address % ucs_page_size() == 0) &&
           (length > 0) && (length < MAX_LENGTH);
}

int served_munmap(uct_predreg_arena_t *served, void *address, size_t length)
{
    if (*served->is_here &&
        uct_predreg_arena_munmap(&served->served, &address, &length)) {
        if (uct_predreg_attract_unmapped(&served->attraction)) {
            ucs_rcache_pred_thread_wake(served->thread);
        }
        return 0;
    }
    return is_plain(address, length) ? munmap(address, length) :
                                       syscall(SYS_munmap, address, length);
}

void *served_mremap(uct_predreg_arena_t *served, void *address, size_t old_length,
                    size_t new_length, int flags, void *target)
{
    uct_predreg_mremap_t call = {
        .address         = address,
        .old_length      = old_length,
        .new_length      = new_length,
        .flags           = flags,
        .is_target_known = (target != NULL),
        .target          = target
    };
    void *result;

    if (*served->is_here &&
        uct_predreg_arena_mremap(&served->served, &call, &result)) {
        return result;
    }
    return (void*)syscall(SYS_mremap, call.address, old_length, call.new_length,
                          call.flags, target);
}

int served_madvise(uct_predreg_arena_t *served, void *address, size_t length,
                   int advice)
{
    if (*served->is_here &&
        uct_predreg_arena_madvise(&served->served, &address, &length, advice)) {
        return 0;
    }
    return syscall(SYS_madvise, address, length, advice);
}

/* As the functions of libc do, see preload_libc.h */
static int
may_alter(uct_predreg_arena_t *served, const void *address, size_t length)
{
    int error = *served->is_here ?
                        uct_predreg_arena_alter(&served->served, address,
                                                length) :
                        0;

    if (error != 0) {
        errno = error;
    }
    return error == 0;
}

int served_mprotect(uct_predreg_arena_t *served, void *address, size_t length,
                    int prot)
{
    if (!may_alter(served, address, length)) {
        return -1;
    }
    return syscall(SYS_mprotect, address, length, prot);
}

int served_mlock(uct_predreg_arena_t *served, const void *address, size_t length)
{
    if (!may_alter(served, address, length)) {
        return -1;
    }
    return syscall(SYS_mlock, address, length);
}


uct_predreg_handles_t *handles_make(size_t max)
{
    size_t size             = uct_predreg_handles_memory_size(max);
    uct_predreg_handles_t *handles = calloc(1, sizeof(*handles) + size);

    uct_predreg_handles_init(handles, max, handles + 1);
    return handles;
}

void handles_destroy(uct_predreg_handles_t *handles)
{
    free(handles);
}

void handles_set(uct_predreg_handles_t *handles, const uint64_t *keys,
                 const uint32_t *slabs, size_t num)
{
    size_t i;

    uct_predreg_handles_begin(handles);
    for (i = 0; i < num; ++i) {
        uct_predreg_handles_put(handles, keys[i], slabs[i]);
    }
    uct_predreg_handles_end(handles);
}


uct_predreg_altered_t *altered_make(uintptr_t base, size_t size, size_t page_size)
{
    size_t bits             = uct_predreg_altered_memory_size(size / page_size);
    uct_predreg_altered_t *altered = calloc(1, sizeof(*altered) + bits);

    uct_predreg_altered_init(altered, base, page_size, altered + 1);
    return altered;
}

void altered_destroy(uct_predreg_altered_t *altered)
{
    free(altered);
}

uct_predreg_attract_t *attract_make(size_t min, size_t max)
{
    uct_predreg_attract_t *attract = malloc(sizeof(*attract));

    uct_predreg_attract_init(attract, min, max);
    return attract;
}

void attract_destroy(uct_predreg_attract_t *attract)
{
    free(attract);
}
