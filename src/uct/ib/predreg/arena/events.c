/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "events.h"

#include <ucs/base/relaxed.h>
#include <ucm/api/ucm.h>

#include <errno.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>


/* UCM calls handlers of negative priority before the kernel. By then UCM has called the
 * handlers for unmapped memory, of UCX and of this library, with an event of their own */
#define PRIORITY (-1)


static void on_mmap(uct_predreg_served_t *served, ucm_event_t *event)
{
    void *result;

    if ((event->mmap.result == MAP_FAILED) &&
        uct_predreg_arena_mmap(served, event->mmap.address, event->mmap.size,
                               event->mmap.prot, event->mmap.flags, &result)) {
        event->mmap.result = result;
    }
}

static void on_munmap(uct_predreg_arena_t *arena, ucm_event_t *event)
{
    uct_predreg_served_t *served = &arena->served;

    if ((event->munmap.result == -1) &&
        uct_predreg_arena_munmap(served, &event->munmap.address,
                                 &event->munmap.size)) {
        event->munmap.result = 0;
        if (ucs_unlikely(uct_predreg_attract_unmapped(&arena->attraction))) {
            ucs_rcache_pred_thread_wake(arena->thread);
        }
    }
}

static void on_mremap(const uct_predreg_arena_events_t *events,
                      uct_predreg_served_t *served, ucm_event_t *event)
{
    uct_predreg_mremap_t call = {
        .address         = event->mremap.address,
        .old_length      = event->mremap.old_size,
        .new_length      = event->mremap.new_size,
        .flags           = event->mremap.flags,
        .is_target_known = (events->mremap_target_offset > 0)
    };
    void *result;

    if (event->mremap.result != MAP_FAILED) {
        return;
    }

    if (call.is_target_known) {
        call.target = *(void**)((char*)event + events->mremap_target_offset);
    }

    if (uct_predreg_arena_mremap(served, &call, &result)) {
        event->mremap.result = result;
    } else {
        event->mremap.address  = call.address;
        event->mremap.new_size = call.new_length;
        event->mremap.flags    = call.flags;
    }
}

static void on_madvise(uct_predreg_served_t *served, ucm_event_t *event)
{
    if ((event->madvise.result == -1) &&
        uct_predreg_arena_madvise(served, &event->madvise.addr,
                                  &event->madvise.length,
                                  event->madvise.advice)) {
        event->madvise.result = 0;
    }
}

/* The program is about to attach shared memory. With SHM_REMAP the shared memory replaces
 * the memory that is there */
static void on_shmat(uct_predreg_served_t *served, const ucm_event_t *event)
{
    uintptr_t address = (uintptr_t)event->shmat.shmaddr;
    struct shmid_ds segment;

    if ((event->shmat.result != MAP_FAILED) || (address == 0) ||
        !(event->shmat.shmflg & SHM_REMAP) ||
        (shmctl(event->shmat.shmid, IPC_STAT, &segment) != 0)) {
        return;
    }

    if (event->shmat.shmflg & SHM_RND) {
        address -= address % SHMLBA;
    }
    uct_predreg_arena_replace(served, (void*)address, segment.shm_segsz);
}

/* @return the arena of this process; NULL if there is none. A child that was forked just now
 * sees the parent's arena, whose memory is ordinary memory in the child */
static uct_predreg_arena_t *find_arena(uct_predreg_arena_events_t *events)
{
    uct_predreg_arena_t *arena;

    /* Acquire: pairs with the release when the arena was made */
    arena = atomic_load_explicit(&events->arena, memory_order_acquire);
    return ((arena != NULL) && *arena->is_here) ? arena : NULL;
}

static void
handle_event(ucm_event_type_t type, ucm_event_t *event, void *arg)
{
    uct_predreg_arena_events_t *events = arg;
    uct_predreg_arena_t *arena         = find_arena(events);
    int saved_errno                    = errno;

    if (arena == NULL) {
        return;
    }

    /* Read the flag before writing it, so that threads do not take its cache line from
     * each other */
    if (!ucs_relaxed_load(&arena->has_events)) {
        ucs_relaxed_store(&arena->has_events, 1);
    }
    ucs_rank_take(UCS_RANK_HOOK, event, UCS_RANK_TRY);
    switch (type) {
    case UCM_EVENT_MMAP:
        on_mmap(&arena->served, event);
        break;
    case UCM_EVENT_MUNMAP:
        on_munmap(arena, event);
        break;
    case UCM_EVENT_MREMAP:
        on_mremap(events, &arena->served, event);
        break;
    case UCM_EVENT_MADVISE:
        on_madvise(&arena->served, event);
        break;
    case UCM_EVENT_SHMAT:
        on_shmat(&arena->served, event);
        break;
    default:
        break;
    }
    ucs_rank_drop(event);
    errno = saved_errno;
}

ucs_status_t uct_predreg_arena_events_start(uct_predreg_arena_events_t *events)
{
    /* UCM_EVENT_FLAG_NO_INSTALL keeps UCM from a test whether malloc() causes each of
     * these events: malloc() does not cause all of them, and ucm_set_event_handler()
     * would fail */
    return ucm_set_event_handler(UCM_EVENT_MMAP | UCM_EVENT_MUNMAP |
                                 UCM_EVENT_MREMAP | UCM_EVENT_MADVISE |
                                 UCM_EVENT_SHMAT | UCM_EVENT_FLAG_NO_INSTALL,
                                 PRIORITY, handle_event, events);
}

int uct_predreg_arena_events_arrive(uct_predreg_arena_events_t *events)
{
    uct_predreg_arena_t *arena = find_arena(events);
    size_t size                = arena->served.page_size;
    void *page;

    page = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return 0;
    }

    munmap(page, size);
    /* If a call of another thread has set the flag, the calls of mmap() and munmap() above
     * reach the arena as well */
    return ucs_relaxed_load(&arena->has_events);
}

int uct_predreg_arena_events_alter(uct_predreg_arena_events_t *events,
                                   const void *address, size_t length)
{
    uct_predreg_arena_t *arena = find_arena(events);

    return (arena == NULL) ?
                   0 :
                   uct_predreg_arena_alter(&arena->served, address, length);
}
