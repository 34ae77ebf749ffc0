/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sim.h"

#include <tools/replay/program/ranges.h>
#include <ucs/arena/arena.h>
#include <ucs/base/align.h>
#include <uct/ib/predreg/core/knobs.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <sys/mman.h>


/* The address of the arena. Nobody accesses its memory. The uses in the trace have
 * addresses of the program's own mappings; for each mapping that the arena would have
 * served, the simulation keeps the place that the mapping gets in the arena */
#define ARENA_START (1ul << 46)

/* The state of a slab, besides its state in the arena */
typedef struct {
    predreg_holding_t holding;
    enum {
        SLAB_GONE,
        SLAB_REGISTERING,   /* An operation is under way, which ends at 'until' */
        SLAB_REGISTERED,
        SLAB_DEREGISTERING  /* An operation is under way, which ends at 'until' */
    }                 state;
    uint64_t          until;
    size_t            length;
} slab_t;

struct predreg_served {
    ucs_arena_t                   *arena;
    size_t                        arena_size; /* Size of the memory for the arena's own
                                                 data, bytes */
    predreg_account_t             *account;
    const predreg_replay_params_t *params;
    slab_t                        *slabs;
    void                          *mappings;  /* The program's mappings that have a
                                                 place in the arena; see ranges.h */
    uint64_t                      now;        /* Time of the running call */
    uint64_t                      busy_until; /* When the helper's last operation ends */
    uint64_t                      helper;     /* Sum of the times of the helper's
                                                 operations, ns */
    size_t                        peak;       /* The largest sum of the lengths of open
                                                 slabs, registered or not, bytes */
};


/* If the operation on a slab has ended by now, set the state that follows */
static void settle(predreg_served_t *served, slab_t *slab, uint64_t now)
{
    if (slab->until > now) {
        return;
    }

    if (slab->state == SLAB_REGISTERING) {
        predreg_holding_registered(served->account, &slab->holding,
                                   slab->until);
        slab->state = SLAB_REGISTERED;
    } else if (slab->state == SLAB_DEREGISTERING) {
        predreg_holding_close(served->account, &slab->holding, slab->until);
        slab->state = SLAB_GONE;
    }
}

/* The helper begins an operation, and is busy until the operation ends */
static void take_time(predreg_served_t *served, slab_t *slab, uint64_t cost,
                      int is_reg)
{
    slab->until        = served->now + cost;
    served->busy_until = slab->until;
    served->helper    += cost;
    predreg_account_helper(served->account, served->now, slab->until, is_reg);
}

static slab_t *slab_of(predreg_served_t *served, const ucs_arena_slab_t *slab)
{
    return &served->slabs[slab - served->arena->slabs.slabs];
}

static ucs_status_t
op_reg(void *arg, void *start, size_t length, void **handle_p)
{
    predreg_served_t *served = arg;
    uint64_t address         = (uintptr_t)start;
    size_t spacing           = served->arena->params.slab_size;
    slab_t *slab             =
            &served->slabs[(address - ARENA_START) / spacing];

    settle(served, slab, served->now);
    predreg_holding_reg(served->account, &slab->holding, address, length,
                        served->now);
    slab->state  = SLAB_REGISTERING;
    slab->length = length;
    take_time(served, slab,
              predreg_cost_of(&served->params->reg, address, length), 1);
    *handle_p = slab;
    return UCS_OK;
}

static ucs_status_t op_dereg(void *arg, void *handle)
{
    predreg_served_t *served = arg;
    slab_t *slab             = handle;

    settle(served, slab, served->now);
    predreg_holding_dereg(served->account, &slab->holding, served->now);
    slab->state = SLAB_DEREGISTERING;
    take_time(served, slab, predreg_cost_of(&served->params->dereg, ARENA_START,
                                            slab->length), 0);
    return UCS_OK;
}

/* Update the peak, after each operation that may open a slab */
static void note_peak(predreg_served_t *served)
{
    ucs_arena_stats_t stats;

    ucs_arena_stats_get(served->arena, &stats);
    served->peak = ucs_max(served->peak, stats.committed);
}

static ucs_status_t op_memory(void *arg, void *start, size_t length)
{
    return UCS_OK;
}

static ucs_status_t
op_set(void *arg, void *start, size_t length, int is_on)
{
    return UCS_OK;
}

static void op_zero(void *arg, void *start, size_t length)
{
}

static void op_wake(void *arg)
{
}

/* Make the arena, and the memory for its own data */
static void create_arena(predreg_served_t *served,
                         const ucs_arena_params_t *params)
{
    const ucs_arena_ops_t ops = {
        .map     = op_memory,
        .unmap   = op_memory,
        .protect = op_set,
        .inherit = op_set,
        .discard = op_memory,
        .reg     = op_reg,
        .dereg   = op_dereg,
        .zero    = op_zero,
        .wake    = op_wake,
        .arg     = served
    };
    void *memory;

    served->slabs = predreg_alloc(params->size / params->slab_size,
                                  sizeof(*served->slabs));

    /* The arena accesses only the parts of this memory that belong to opened slabs */
    served->arena_size = ucs_arena_memory_size(params);
    memory             = mmap(NULL, served->arena_size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                              0);
    if (memory == MAP_FAILED) {
        predreg_no_memory();
    }

    served->arena = ucs_arena_init(params, &ops, memory);
}

predreg_served_t *predreg_served_create(const predreg_replay_params_t *params,
                                        predreg_account_t *account)
{
    predreg_served_t *served = predreg_alloc(1, sizeof(*served));
    size_t slab_size         = params->arena_slab;
    ucs_arena_params_t arena;

    served->account = account;
    served->params  = params;

    /* A small arena gets shorter slabs, as in the library */
    while ((slab_size > params->limit) && (slab_size > UCT_PREDREG_MIN_SLAB)) {
        slab_size /= 2;
    }

    ucs_arena_params_default(slab_size, &arena);
    arena.start     = ARENA_START;
    arena.page_size = PREDREG_PAGE_SIZE;
    ucs_arena_params_grow(&arena,
                          ucs_min((size_t)UCT_PREDREG_FIRST_SLAB, slab_size),
                          ucs_max(params->limit - (params->limit % slab_size),
                                  slab_size));
    create_arena(served, &arena);
    return served;
}

void predreg_served_destroy(predreg_served_t *served)
{
    ucs_arena_cleanup(served->arena);
    munmap(served->arena, served->arena_size);
    free(served->slabs);
    predreg_ranges_cleanup(&served->mappings);
    free(served);
}

uint64_t predreg_served_due(const predreg_served_t *served)
{
    uint64_t due = ucs_arena_due(served->arena);

    return (due == UCS_ARENA_NEVER) ? UINT64_MAX :
                                      ucs_max(due, served->busy_until);
}

void predreg_served_tend(predreg_served_t *served, uint64_t now)
{
    served->now = now;
    (void)ucs_arena_tend(served->arena, now);
    note_peak(served);
}

/* Free the memory of [start, end) in the arena */
static void unmap(predreg_served_t *served, uint64_t start, uint64_t end)
{
    const predreg_range_t part = { .start = start, .end = end };
    predreg_range_t *mapping;
    uint64_t first;

    while ((mapping = predreg_ranges_find(&served->mappings, &part)) != NULL) {
        first = ucs_max(start, mapping->start);
        (void)ucs_arena_free(served->arena,
                             (void*)(mapping->place + (first - mapping->start)),
                             ucs_min(end, mapping->end) - first, served->now);
        predreg_ranges_cut(&served->mappings, mapping, start, end);
    }
}

/* Extend a range to whole pages, as the kernel maps and unmaps them */
static predreg_range_t pages_of(uint64_t start, uint64_t end)
{
    return (predreg_range_t){
        .start = ucs_round_down(start, PREDREG_PAGE_SIZE),
        .end   = ucs_round_up(end, PREDREG_PAGE_SIZE)
    };
}

void predreg_served_map(predreg_served_t *served, const predreg_map_t *map,
                        uint64_t now)
{
    predreg_range_t mapping = pages_of(map->start, map->end);
    size_t length           = mapping.end - mapping.start;
    void *place;

    served->now = now;
    /* As the kernel does, replace an earlier mapping at this place, even if the trace has
     * no unmap of it */
    unmap(served, mapping.start, mapping.end);
    place = ucs_arena_allocate(served->arena, length);
    note_peak(served);
    if (place != NULL) {
        mapping.place = (uintptr_t)place;
        predreg_ranges_insert(&served->mappings, &mapping);
    }
}

void predreg_served_unmap(predreg_served_t *served,
                          const predreg_unmap_t *event, uint64_t now)
{
    predreg_range_t pages = pages_of(event->start, event->end);

    served->now = now;
    unmap(served, pages.start, pages.end);
}

void *predreg_served_begin(predreg_served_t *served, const predreg_use_t *use,
                           predreg_site_t *site, uint64_t now)
{
    const predreg_range_t used = {
        .start = use->address,
        .end   = use->address + use->length
    };
    const predreg_range_t *mapping;
    ucs_arena_slab_t *found;
    void *place;
    slab_t *slab;

    mapping = predreg_ranges_find(&served->mappings, &used);
    if ((mapping == NULL) || (used.start < mapping->start) ||
        (used.end > mapping->end)) {
        return NULL;
    }

    place = (void*)(mapping->place + (used.start - mapping->start));
    found = ucs_arena_find(served->arena, place, use->length);
    if (found == NULL) {
        (void)ucs_arena_want(served->arena, place, use->length);
        return NULL;
    }

    slab = slab_of(served, found);
    settle(served, slab, now);
    if ((slab->state != SLAB_REGISTERED) || !ucs_arena_slab_acquire(found)) {
        return NULL;
    }

    predreg_holding_use(served->account, &slab->holding, site, now);
    return found;
}

void predreg_served_end(predreg_served_t *served, void *found, uint64_t now)
{
    predreg_holding_unuse(served->account,
                          &slab_of(served, found)->holding, now);
    ucs_arena_slab_release(found);
}

void predreg_served_finish(predreg_served_t *served, uint64_t now,
                           predreg_replay_result_t *result)
{
    slab_t *slab;

    predreg_for_each(slab, served->slabs, served->arena->slabs.num) {
        settle(served, slab, now);
        if (slab->state != SLAB_GONE) {
            predreg_holding_close(served->account, &slab->holding, now);
        }
    }
    result->helper += served->helper;
    /* The peak is rounded up to slabs of the longest length: an arena that is smaller
     * would have no room for such a slab, and so not for long mappings */
    result->bound_bytes = ucs_round_up(served->peak,
                                       served->arena->params.slab_size);
}
