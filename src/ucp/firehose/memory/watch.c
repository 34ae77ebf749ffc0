/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "watch.h"

#include <ucm/api/ucm.h>
#include <ucs/base/hook.h>
#include <ucs/base/mutex.h>
#include <ucs/base/relaxed.h>
#include <ucs/base/wait.h>
#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* UCM calls handlers of negative priority before it calls the kernel, and other handlers
 * afterwards. With PRIORITY_BEFORE, UCM calls handle_before() ahead of the handler of
 * libuct_predreg.so's arena, which would otherwise use the unmapped memory for something
 * else */
#define PRIORITY_BEFORE (-2)
#define PRIORITY_AFTER  1


/* All exposed memory of the process. Any thread may take the lock, since memory hooks do,
 * and blocks signals meanwhile. Only functions of mapping.h are called under the lock. */
static struct {
    ucs_mutex_t        lock;
    /* Held by a thread while it unmaps kept memory. Threads that wait for this lend their
     * priority to the holder */
    ucs_mutex_t        releasing;
    ucs_list_link_t    list;
    /* Bounds of the memory in the list. Written under the lock. Handlers read the bounds
     * without the lock, so that the unmapping of other memory does not wait; relaxed: if
     * a program exposes memory in one thread and unmaps it in another, the program has to
     * order the two calls */
    _Atomic(uint64_t)   start;
    _Atomic(uint64_t)   end;
    unsigned           page_shift;
    ucs_status_t       status; /* What ucp_fh_watch_start() returns */
} registry = {
    .list  = UCS_LIST_INITIALIZER(&registry.list, &registry.list),
    .start = UINT64_MAX
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Whether this thread unmaps kept memory. Volatile: munmap() calls the handler, which
 * reads the flag, though libc declares that munmap() does not call back. Initial-exec: in
 * a library that was opened by dlopen(), libc would otherwise allocate the variable when
 * a thread first reads it, which may be in the midst of free() */
static __thread volatile int is_releasing
        __attribute__((tls_model("initial-exec")));


/* The locks lend the priority of a waiting thread to the holder: a thread of a real-time
 * class may wait for a holder of a lower class, which would otherwise get no processor */
static void init_locks(void)
{
    ucs_mutex_init(&registry.lock, UCS_RANK_FH_REGISTRY, UCS_MUTEX_LENDS);
    ucs_mutex_init(&registry.releasing, UCS_RANK_FH_RELEASE, UCS_MUTEX_LENDS);
}

static void lock(void)
{
    ucs_hook_enter();
    ucs_mutex_lock(&registry.lock);
}

static void unlock(void)
{
    ucs_mutex_unlock(&registry.lock);
    ucs_hook_leave();
}

static int is_watched(uint64_t start, uint64_t end)
{
    return (start < end) && !is_releasing &&
           (start < ucs_relaxed_load(&registry.end)) &&
           (end > ucs_relaxed_load(&registry.start));
}

/* Under the lock: note news, and wake the library's thread. Async-signal-safe */
static void tell(ucp_fh_watched_t *watched)
{
    uint64_t one = 1;
    ssize_t ret;

    ucs_relaxed_store(&watched->has_news, 1);
    atomic_store_explicit(&watched->watcher->has_news, 1, memory_order_release);
    ret = write(watched->watcher->wake_fd, &one, sizeof(one));
    (void)ret;
}

/* Keep the first pages of a range if they are exposed, or kept already. @return whether
 * they are. *end_p becomes the end of these pages: the next page is different, or outside
 * of the range */
static int keep(uint64_t start, uint64_t *end_p)
{
    int is_kept = 0;
    ucp_fh_watched_t *watched;

    lock();
    ucs_list_for_each(watched, &registry.list, link) {
        is_kept |= ucp_fh_mapping_first(&watched->mapping, start, end_p,
                                        ucp_fh_page_is_watched);
    }
    ucs_list_for_each(watched, &registry.list, link) {
        if (is_kept && ucp_fh_mapping_unmap(&watched->mapping, start, *end_p, 1)) {
            tell(watched);
        }
    }
    unlock();
    return is_kept;
}

/* Unmap a range, so that handle_before() ignores the event. All signals are blocked: a
 * handler of a signal in this thread could unmap exposed memory, and that must not be
 * ignored */
static void unmap(uint64_t start, uint64_t end)
{
    int before_this = is_releasing;

    ucs_hook_enter();
    is_releasing = 1;
    (void)munmap((void*)start, end - start);
    is_releasing = before_this;
    ucs_hook_leave();
}

static void on_munmap(ucm_event_t *event)
{
    uint64_t page  = 1ull << registry.page_shift;
    uint64_t start = (uintptr_t)event->munmap.address;
    uint64_t end   = start + ((event->munmap.size + page - 1) & ~(page - 1));
    uint64_t next  = end;
    int is_kept;

    if ((event->munmap.result != -1) || ((start & (page - 1)) != 0) ||
        !is_watched(start, end)) {
        return;
    }

    is_kept = keep(start, &next);
    if (!is_kept && (next == end)) {
        return;
    }

    for (;;) {
        if (!is_kept) {
            unmap(start, next);
        }
        if (next == end) {
            break;
        }
        start   = next;
        next    = end;
        is_kept = keep(start, &next);
    }
    event->munmap.result = 0;
}

/* Note that the program replaces a range. @return 0 if another thread is unmapping some
 * of the range just now: nothing was noted, and the caller tries again */
static int try_replace(uint64_t start, uint64_t end)
{
    int is_busy = 0;
    ucp_fh_watched_t *watched;

    lock();
    ucs_list_for_each(watched, &registry.list, link) {
        is_busy |= ucp_fh_mapping_any(&watched->mapping, start, end,
                                      ucp_fh_page_is_releasing);
    }
    ucs_list_for_each(watched, &registry.list, link) {
        if (!is_busy && ucp_fh_mapping_unmap(&watched->mapping, start, end, 0)) {
            tell(watched);
        }
    }
    unlock();
    return !is_busy;
}

static void replace(uint64_t start, uint64_t end)
{
    if (!is_watched(start, end)) {
        return;
    }

    /* Wait for a thread that is unmapping some of the range: it must not unmap what the
     * program is about to put here. This takes no longer than a munmap(), for which the
     * kernel would wait as well */
    while (!try_replace(start, end)) {
        ucs_give_way(&registry.releasing);
    }
}

static uint64_t heap_end(void)
{
    return syscall(SYS_brk, 0);
}

/* The program shortens memory, which ends at @a start from now on: the page with the new
 * end stays */
static void cut(uint64_t start, uint64_t end)
{
    uint64_t page = 1ull << registry.page_shift;

    replace((start + page - 1) & ~(page - 1), end);
}

static void handle_before(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    int saved_errno = errno;
    uint64_t end;

    ucs_rank_take(UCS_RANK_HOOK, event, UCS_RANK_TRY);
    switch (type) {
    case UCM_EVENT_MUNMAP:
        on_munmap(event);
        break;
    case UCM_EVENT_MMAP:
        if ((event->mmap.result == MAP_FAILED) &&
            (event->mmap.flags & MAP_FIXED)) {
            replace((uintptr_t)event->mmap.address,
                    (uintptr_t)event->mmap.address + event->mmap.size);
        }
        break;
    case UCM_EVENT_SBRK:
        if (event->sbrk.increment < 0) {
            end = heap_end();
            cut(end + event->sbrk.increment, end);
        }
        break;
    case UCM_EVENT_BRK:
        if (event->brk.addr != NULL) { /* brk(NULL) only asks where the heap ends */
            cut((uintptr_t)event->brk.addr, heap_end());
        }
        break;
    default:
        break;
    }
    ucs_rank_drop(event);
    errno = saved_errno;
}

/* Handle mremap(), after the call: only then does UCM tell where the memory has moved to,
 * in all versions of UCX */
static void handle_after(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    int saved_errno   = errno;
    uint64_t result   = (uintptr_t)event->mremap.result;
    uint64_t address  = (uintptr_t)event->mremap.address;
    size_t old_length = event->mremap.old_size;
    size_t new_length = event->mremap.new_size;

    if (event->mremap.result == MAP_FAILED) {
        return;
    }

    ucs_rank_take(UCS_RANK_HOOK, event, UCS_RANK_TRY);
    if (result != address) {
        replace(address, address + old_length);
        replace(result, result + new_length);
    } else if (new_length < old_length) {
        cut(address + new_length, address + old_length);
    }
    ucs_rank_drop(event);
    errno = saved_errno;
}

/* In the child of a fork nothing is exposed. The locks are made anew, since another thread may
 * have held them at the fork */
static void forget(void)
{
    ucs_rank_forget();
    init_locks();
    ucs_list_head_init(&registry.list);
    ucs_relaxed_store(&registry.start, UINT64_MAX);
    ucs_relaxed_store(&registry.end, 0);
}

static void ignore(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
}

/* Whether UCM would install its hooks by relocation. To install them as late as here may
 * never end: in UCX 1.13, sbrk() and malloc() then call each other for ever */
static int is_by_relocation(void)
{
    const char *mode = getenv("UCX_MEM_MMAP_HOOK_MODE");

    return (mode != NULL) && !strcasecmp(mode, "reloc");
}

static ucs_status_t set_handlers(void)
{
    int flags = is_by_relocation() ? UCM_EVENT_FLAG_NO_INSTALL : 0;
    ucs_status_t status;

    /* Let UCM install its hooks, for this event alone. For the other events UCM would
     * test whether malloc() causes the event, and would fail since malloc() does not */
    status = ucm_set_event_handler(UCM_EVENT_VM_UNMAPPED | flags, PRIORITY_AFTER,
                                   ignore, NULL);
    if (status != UCS_OK) {
        return status;
    }

    status = ucm_set_event_handler(UCM_EVENT_MREMAP | UCM_EVENT_FLAG_NO_INSTALL,
                                   PRIORITY_AFTER, handle_after, NULL);
    if (status != UCS_OK) {
        return status;
    }

    return ucm_set_event_handler(UCM_EVENT_MUNMAP | UCM_EVENT_MMAP |
                                 UCM_EVENT_SBRK | UCM_EVENT_BRK |
                                 UCM_EVENT_FLAG_NO_INSTALL,
                                 PRIORITY_BEFORE, handle_before, NULL);
}

static void start(void)
{
    registry.page_shift = ucs_ilog2(sysconf(_SC_PAGESIZE));
    init_locks();
    registry.status = (pthread_atfork(NULL, NULL, forget) == 0) ?
                              set_handlers() : UCS_ERR_NO_MEMORY;
    if (registry.status != UCS_OK) {
        ucs_debug("firehose: exposed memory that is unmapped is not noticed: %s",
                  ucs_status_string(registry.status));
    }
}

ucs_status_t ucp_fh_watch_start(void)
{
    pthread_once(&once, start);
    return registry.status;
}

/* Under the lock */
static void set_bounds(void)
{
    uint64_t first = UINT64_MAX;
    uint64_t last  = 0;
    ucp_fh_watched_t *watched;

    ucs_list_for_each(watched, &registry.list, link) {
        first = ucs_min(first, watched->mapping.start);
        last  = ucs_max(last, watched->mapping.end);
    }

    ucs_relaxed_store(&registry.start, first);
    ucs_relaxed_store(&registry.end, last);
}

ucs_status_t ucp_fh_watch_add(ucp_fh_watched_t *watched,
                              ucp_fh_watcher_t *watcher, uint64_t start,
                              uint64_t end)
{
    ucs_status_t status;

    status = ucp_fh_mapping_init(&watched->mapping, start, end,
                                 registry.page_shift);
    if (status != UCS_OK) {
        return status;
    }

    watched->watcher = watcher;
    atomic_init(&watched->has_news, 0);
    lock();
    ucs_list_add_tail(&registry.list, &watched->link);
    set_bounds();
    unlock();
    return UCS_OK;
}

int ucp_fh_watch_next(ucp_fh_watched_t *watched, uint64_t *start_p,
                      uint64_t *end_p)
{
    int has_any;

    if (!ucs_relaxed_load(&watched->has_news)) {
        return 0; /* The usual case: without lock, since much memory may be exposed */
    }

    lock();
    has_any = ucp_fh_mapping_next(&watched->mapping, start_p, end_p);
    if (!has_any) {
        ucs_relaxed_store(&watched->has_news, 0);
    }
    unlock();
    return has_any;
}

void ucp_fh_watch_take(ucp_fh_watched_t *watched, uint64_t start, uint64_t end)
{
    lock();
    ucp_fh_mapping_take(&watched->mapping, start, end);
    unlock();
}

/* Under the lock. @return whether the first pages of a range are kept by other mappings
 * as well: the program has exposed the same memory in two ucp_fh_h of this process.
 * *end_p becomes the end of the first pages with the same answer */
static int is_kept_by_others(const ucp_fh_watched_t *watched, uint64_t start,
                             uint64_t *end_p)
{
    int is_kept = 0;
    ucp_fh_watched_t *other;

    ucs_list_for_each(other, &registry.list, link) {
        is_kept |= (other != watched) &&
                   ucp_fh_mapping_first(&other->mapping, start, end_p,
                                        ucp_fh_page_is_kept);
    }

    return is_kept;
}

/* Unmap the first kept pages of a range, or leave the pages to other mappings that keep
 * them as well. @return the begin of the rest of the range */
static uint64_t
release_next(ucp_fh_watched_t *watched, uint64_t start, uint64_t end)
{
    uint64_t next = end;
    int has_any   = 0;

    lock();
    if (is_kept_by_others(watched, start, &next)) {
        ucp_fh_mapping_released(&watched->mapping, start, next);
        end = next;
    } else {
        end     = next;
        has_any = ucp_fh_mapping_release(&watched->mapping, &start, &end);
    }
    unlock();
    if (!has_any) {
        return next;
    }

    unmap(start, end);
    lock();
    ucp_fh_mapping_released(&watched->mapping, start, end);
    unlock();
    return end;
}

void ucp_fh_watch_release(ucp_fh_watched_t *watched, uint64_t start,
                          uint64_t end)
{
    /* Block signals: a signal handler in this thread that replaces memory would wait in
     * replace() for this very thread */
    ucs_hook_enter();
    ucs_mutex_lock(&registry.releasing);
    while (start < end) {
        start = release_next(watched, start, end);
    }
    ucs_mutex_unlock(&registry.releasing);
    ucs_hook_leave();
}

/* Take memory out of the list. @return 0 if some of its pages are kept: then the memory
 * stays in the list */
static int try_remove(ucp_fh_watched_t *watched)
{
    uint64_t start = watched->mapping.start;
    uint64_t end   = watched->mapping.end;
    int is_kept;

    lock();
    is_kept = ucp_fh_mapping_any(&watched->mapping, start, end,
                                 ucp_fh_page_is_kept);
    if (!is_kept) {
        ucs_list_del(&watched->link);
        set_bounds();
    }
    unlock();
    return !is_kept;
}

void ucp_fh_watch_remove(ucp_fh_watched_t *watched)
{
    while (!try_remove(watched)) {
        ucp_fh_watch_release(watched, watched->mapping.start,
                             watched->mapping.end);
    }
    ucp_fh_mapping_cleanup(&watched->mapping);
}
