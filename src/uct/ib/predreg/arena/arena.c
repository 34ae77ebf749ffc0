/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena.h"
#include "system.h"

#include <ucs/base/align.h>
#include <ucs/base/relaxed.h>
#include <ucs/base/wait.h>

#include <ucs/sys/math.h>

#include <string.h>
#include <sys/mman.h>


/* How often the helper looks whether memory is short, and shows the statistics, ns.
 * A look takes some 20 us */
#define LOOK_INTERVAL UCS_ARENA_DEF_IDLE

/* Memory is short if processes have waited for memory during this part of the time since
 * the last look: a clear slowdown */
#define SHORT_PART .1

/* Bytes of a huge page on x86, and of the usual ones on ARM. Longer huge pages are left to
 * the kernel */
#define HUGE_PAGE (2ul << 20)

/* Where the parts of an arena are in its memory, bytes from its beginning */
typedef struct {
    size_t inner;
    size_t regs;
    size_t is_protected;
    size_t is_advised;
    size_t is_here;
    size_t end;
} layout_t;


/* Functions of LeakSanitizer (sanitizer/lsan_interface.h), if a program has LeakSanitizer.
 * LeakSanitizer does not look for pointers in mapped memory: registrations, and
 * structures of the helper thread, would seem to be lost at the exit */
void __lsan_register_root_region(const void *start, size_t size)
        __attribute__((weak));
void __lsan_unregister_root_region(const void *start, size_t size)
        __attribute__((weak));


static void fill(void *arg, void *start, size_t length)
{
    uct_predreg_arena_t *arena   = arg;
    ucs_rcache_pred_time_t begin = ucs_rcache_pred_thread_now(arena->thread);

    memset(start, 0, length);
    ucs_relaxed_add(&arena->zero_time,
                    ucs_rcache_pred_thread_now(arena->thread) - begin);
}

static ucs_status_t
op_reg(void *arg, void *start, size_t length, void **handle_p)
{
    uct_predreg_arena_t *arena = arg;

    return uct_predreg_arena_regs_reg(&arena->regs, start, length, handle_p);
}

/* Deregister a slab. The result is always UCS_OK, so that the arena gives the slab back
 * even if UCX could not deregister it: the kernel keeps the pages for the adapter as long
 * as need be */
static ucs_status_t op_dereg(void *arg, void *handle)
{
    uct_predreg_arena_t *arena = arg;

    uct_predreg_arena_regs_dereg(&arena->regs, handle);
    return UCS_OK;
}

static void op_wake(void *arg)
{
    uct_predreg_arena_t *arena = arg;

    ucs_rcache_pred_thread_wake(arena->thread);
}

/* The parameters of the inner arena (ucs/arena), all but the address where its slabs
 * begin */
static ucs_arena_params_t inner_params(const uct_predreg_arena_params_t *params)
{
    ucs_arena_params_t inner;

    ucs_arena_params_default(params->slab_size, &inner);
    ucs_arena_params_grow(&inner, params->first_slab, params->size);
    inner.page_size = ucs_page_size();
    inner.is_strict = params->is_strict;
    return inner;
}

static size_t next_part(size_t *end_p, size_t size)
{
    size_t part = *end_p;

    *end_p = ucs_round_up(part + size, 64);
    return part;
}

static layout_t get_layout(const ucs_arena_params_t *inner)
{
    size_t page_size = inner->page_size;
    size_t altered   = uct_predreg_altered_memory_size(inner->size / page_size);
    uint32_t slabs   = inner->size / inner->slab_size;
    layout_t layout;

    layout.end = 0;
    (void)next_part(&layout.end, sizeof(uct_predreg_arena_t));
    layout.inner        = next_part(&layout.end, ucs_arena_memory_size(inner));
    layout.regs         = next_part(&layout.end,
                                    uct_predreg_arena_regs_memory_size(slabs));
    layout.is_protected = next_part(&layout.end, altered);
    layout.is_advised   = next_part(&layout.end, altered);
    layout.is_here      = ucs_round_up(layout.end, page_size);
    layout.end          = layout.is_here + page_size;
    return layout;
}

static void make_regs(uct_predreg_arena_t *arena,
                      const uct_predreg_arena_params_t *params,
                      const ucs_arena_params_t *inner, void *memory)
{
    arena->access         = params->access;
    arena->regs.ops       = params->ops;
    arena->regs.flags     = params->flags;
    arena->regs.base      = inner->start;
    arena->regs.spacing   = inner->slab_size;
    arena->regs.num_slabs = inner->size / inner->slab_size;
    arena->regs.advised   = &arena->served.is_advised;
    uct_predreg_arena_regs_init(&arena->regs, memory);
}

static void make_inner(uct_predreg_arena_t *arena,
                       const ucs_arena_params_t *params, void *memory)
{
    const ucs_arena_ops_t ops = {
        .map     = uct_predreg_system_op_map,
        .unmap   = uct_predreg_system_op_unmap,
        .protect = uct_predreg_system_op_protect,
        .inherit = uct_predreg_system_op_inherit,
        .discard = uct_predreg_system_op_discard,
        .reg     = op_reg,
        .dereg   = op_dereg,
        .zero    = fill,
        .wake    = op_wake,
        .arg     = arena
    };

    arena->served.arena = ucs_arena_init(params, &ops, memory);
}

static void make_served(uct_predreg_arena_t *arena,
                        const uct_predreg_arena_params_t *params,
                        uintptr_t start, const layout_t *layout)
{
    uct_predreg_served_t *served = &arena->served;

    served->page_size  = ucs_page_size();
    served->min_length = params->min_length;
    served->now        = ucs_rcache_pred_thread_now;
    served->arg        = arena->thread;
    uct_predreg_altered_init(&served->is_protected, start, served->page_size,
                             (char*)arena + layout->is_protected);
    uct_predreg_altered_init(&served->is_advised, start, served->page_size,
                             (char*)arena + layout->is_advised);
}

ucs_status_t uct_predreg_arena_create(const uct_predreg_arena_params_t *params,
                                      uct_predreg_arena_t **arena_p)
{
    ucs_arena_params_t inner = inner_params(params);
    size_t page_size         = inner.page_size;
    size_t size              = inner.size + page_size;
    uct_predreg_arena_t *arena;
    ucs_status_t status;
    layout_t layout;
    char *start;

    /* Behind the last slab one page stays reserved: otherwise the kernel could let a
     * mapping at the end of the last slab grow in place (mremap), beyond the arena */
    start = uct_predreg_system_reserve(size, params->slab_size);
    if (start == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    inner.start = (uintptr_t)start;
    layout      = get_layout(&inner);
    arena       = uct_predreg_system_map(NULL, layout.end);
    if (arena == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err_unreserve;
    }

    arena->size    = layout.end;
    arena->is_here = (void*)((char*)arena + layout.is_here);
    if (uct_predreg_system_madvise((void*)arena->is_here, page_size,
                                   MADV_WIPEONFORK) != 0) {
        status = UCS_ERR_UNSUPPORTED;
        goto err_unmap;
    }

    status = ucs_rcache_pred_thread_create(&arena->thread);
    if (status != UCS_OK) {
        goto err_unmap;
    }

    make_regs(arena, params, &inner, (char*)arena + layout.regs);
    make_inner(arena, &inner, (char*)arena + layout.inner);
    make_served(arena, params, (uintptr_t)start, &layout);
    arena->publish  = params->publish;
    arena->attract  = params->attract;
    uct_predreg_attract_init(&arena->attraction, params->min_length,
                             params->slab_size);
    arena->look_at  = uct_predreg_served_time(&arena->served);
    ucs_rcache_pred_pressure_init(&arena->pressure, "", arena->look_at);
    *arena->is_here = 1;
    *arena_p        = arena;
    if (__lsan_register_root_region != NULL) {
        __lsan_register_root_region(arena, arena->size);
    }
    return UCS_OK;

err_unmap:
    (void)uct_predreg_system_munmap(arena, layout.end);
err_unreserve:
    (void)uct_predreg_system_munmap(start, size);
    return status;
}

void uct_predreg_arena_destroy(uct_predreg_arena_t *arena)
{
    void *start = (void*)arena->regs.base;
    size_t size = arena->served.arena->slabs.size + arena->served.page_size;

    (void)ucs_rcache_pred_thread_stop(arena->thread, UINT64_MAX / 4);
    (void)ucs_arena_stop(arena->served.arena);
    ucs_arena_cleanup(arena->served.arena);
    uct_predreg_arena_regs_cleanup(&arena->regs);
    ucs_rcache_pred_thread_destroy(arena->thread);
    (void)uct_predreg_system_munmap(start, size);
    if (__lsan_unregister_root_region != NULL) {
        __lsan_unregister_root_region(arena, arena->size);
    }
    (void)uct_predreg_system_munmap(arena, arena->size);
}

/* If processes wait for memory, deregister all slabs in which no use is under way, so that the
 * kernel can take their pages */
static void
give_if_short(uct_predreg_arena_t *arena, ucs_rcache_pred_time_t now)
{
    if (ucs_rcache_pred_pressure_look(&arena->pressure, now) > SHORT_PART) {
        (void)ucs_arena_shrink(arena->served.arena, SIZE_MAX, now);
    }
}

/* Tell malloc() which allocations to map, so that they come to the arena, see attract.h.
 * malloc()'s heap would have kept memory that the program frees, so the arena keeps such
 * memory as well (ucs_arena_keep()) */
static void
attract_wanted(uct_predreg_arena_t *arena, ucs_rcache_pred_time_t now)
{
    ucs_arena_stats_t stats;

    if (arena->attract == NULL) {
        return;
    }

    ucs_arena_stats_get(arena->served.arena, &stats);
    switch (uct_predreg_attract_look(
            &arena->attraction, now, stats.answered, stats.refused,
            ucs_arena_is_full(arena->served.arena))) {
    case UCT_PREDREG_ATTRACT_TRY:
        arena->attract(arena->attraction.attracted, 1);
        break;
    case UCT_PREDREG_ATTRACT_UNUSED:
        arena->attract(UCT_PREDREG_ATTRACT_NONE, 0);
        break;
    case UCT_PREDREG_ATTRACT_MORE:
        ucs_arena_keep(arena->served.arena);
        arena->attract(arena->attraction.attracted, 1);
        break;
    case UCT_PREDREG_ATTRACT_SETTLED:
        arena->attract(arena->attraction.attracted, 0);
        break;
    case UCT_PREDREG_ATTRACT_OVER:
        arena->attract(SIZE_MAX, 0);
        break;
    case UCT_PREDREG_ATTRACT_NOTHING:
        break;
    }
}

static ucs_rcache_pred_time_t tend(void *arg)
{
    uct_predreg_arena_t *arena = arg;
    ucs_rcache_pred_time_t now = uct_predreg_served_time(&arena->served);
    int is_look                = (now >= arena->look_at);
    ucs_rcache_pred_time_t due;

    UCS_STATIC_ASSERT(UCS_ARENA_NEVER == UCS_RCACHE_PRED_TIME_INF);
    UCS_STATIC_ASSERT(LOOK_INTERVAL <= UCS_ARENA_DEF_IDLE);
    if (is_look) {
        arena->look_at = now + LOOK_INTERVAL;
        give_if_short(arena, now);
    }
    attract_wanted(arena, now);
    due = ucs_arena_tend(arena->served.arena, now);
    if (is_look && (arena->publish != NULL)) {
        arena->publish(arena->regs.ops.arg);
    }
    /* The result is never UCS_ARENA_NEVER, since look_at is a time to come */
    return uct_predreg_served_clock(&arena->served,
                                    ucs_min(due, arena->look_at));
}

ucs_status_t uct_predreg_arena_start(uct_predreg_arena_t *arena)
{
    return ucs_rcache_pred_thread_start(arena->thread, "predreg-arena", tend,
                                        arena);
}

void uct_predreg_arena_stop(uct_predreg_arena_t *arena, uint64_t patience)
{
    (void)ucs_rcache_pred_thread_stop(arena->thread, patience);
    ucs_arena_abandon(arena->served.arena);
}

/* Have the kernel make huge pages of the memory around some addresses, up to the ends of
 * their slab, since the helper is about to register the slab; but not if the program has
 * given other advice for any of the memory */
static void
collapse(uct_predreg_arena_t *arena, const void *address, size_t length)
{
    uintptr_t base  = arena->regs.base;
    uintptr_t slab  = base + ucs_round_down((uintptr_t)address - base,
                                                        arena->regs.spacing);
    uintptr_t start = ucs_round_down((uintptr_t)address, HUGE_PAGE);
    uintptr_t end   = ucs_round_up((uintptr_t)address + length,
                                               HUGE_PAGE);

    start = ucs_max(start, slab);
    end   = ucs_min(end, slab + arena->regs.spacing);
    if (!uct_predreg_altered_has(&arena->served.is_advised, start, end)) {
        uct_predreg_system_collapse((void*)start, end - start);
    }
}

/* Handle the first use of a plain slab. After the first free, malloc() would take memory
 * of the same length from its heap, unless the helper tells it to map the memory */
static void want_slab(uct_predreg_arena_t *arena, const void *address,
                      size_t length, int wanted)
{
    /* The huge pages are made before the helper registers the slab, since pinned pages
     * stay as they are for all later uses */
    if (wanted > 0) {
        collapse(arena, address, length);
    }
    if (uct_predreg_attract_is_malloced(address, arena->served.page_size) &&
        uct_predreg_attract_note(&arena->attraction, length)) {
        op_wake(arena);
    }
}

void uct_predreg_arena_want(uct_predreg_arena_t *arena, const void *address,
                            size_t length)
{
    int wanted = ucs_arena_want(arena->served.arena, address, length);

    if (wanted != 0) {
        want_slab(arena, address, length, wanted);
    } else if (!ucs_arena_has(arena->served.arena, address) &&
               uct_predreg_attract_note(&arena->attraction, length)) {
        op_wake(arena);
    }
}

int uct_predreg_arena_add(uct_predreg_arena_t *arena, void *domain)
{
    int number = uct_predreg_arena_regs_add(&arena->regs, domain);

    if (number >= 0) {
        ucs_arena_lay_off(arena->served.arena);
    }
    return number;
}

int uct_predreg_arena_give_way(uct_predreg_arena_t *arena)
{
    return ucs_arena_shrink(arena->served.arena, 1,
                            uct_predreg_served_time(&arena->served)) > 0;
}
