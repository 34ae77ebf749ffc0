/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "served.h"

#include <ucs/arena/arena.h>
#include <ucs/base/align.h>

#include <ucs/sys/math.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>


/* Where the memory of the arena is said to be. Nobody accesses it: addresses of
 * the program's own mappings stand for it in the trace */
#define ARENA_START (1ul << 46)

/* A mapping of the program that comes from the arena, or what is left of it */
typedef struct {
    uint64_t start;
    uint64_t end;
    uint64_t place; /* Of its start in the arena */
} mapping_t;

/* What a slab is, besides its state in the arena */
typedef struct {
    predreg_holding_t holding;
    enum {
        SLAB_GONE,
        SLAB_REGISTERING,   /* Until 'until' */
        SLAB_REGISTERED,
        SLAB_DEREGISTERING  /* Until 'until' */
    }                 state;
    uint64_t          until;
    size_t            length;
} slab_t;

struct predreg_served {
    ucs_arena_t       *arena;
    size_t            arena_size;   /* Of the arena's own data, bytes */
    predreg_account_t *account;
    predreg_cost_t    reg;
    predreg_cost_t    dereg;
    slab_t            *slabs;
    mapping_t         *mappings;    /* Sorted by start; they do not overlap */
    size_t            num_mappings;
    size_t            max_mappings; /* As many as there is memory for */
    uint64_t          now;          /* Time of the call that is under way */
    uint64_t          busy_until;   /* The helper registers something till then */
    uint64_t          helper;       /* How long it has done so, ns */
    size_t            peak;         /* The most that slabs have had, registered or
                                       not, bytes: so large has it to be */
    ucs_status_t      status;
};


/* Let what has been completed by now be complete */
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

/* The helper begins an operation, for which it is busy */
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
    slab_t *slab             = &served->slabs[(address - ARENA_START) / spacing];

    settle(served, slab, served->now);
    predreg_holding_reg(served->account, &slab->holding, address, length,
                        served->now);
    slab->state  = SLAB_REGISTERING;
    slab->length = length;
    take_time(served, slab, predreg_cost_of(&served->reg, address, length), 1);
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
    take_time(served, slab,
              predreg_cost_of(&served->dereg, ARENA_START, slab->length), 0);
    return UCS_OK;
}

/* After what may have opened a slab */
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

/* Make the arena, with all that it needs for itself */
static ucs_status_t create_arena(predreg_served_t *served,
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
        .arg     = served
    };
    void *memory;

    served->slabs = calloc(params->size / params->slab_size,
                           sizeof(*served->slabs));
    if (served->slabs == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    /* Only what belongs to slabs that are opened is accessed */
    served->arena_size = ucs_arena_memory_size(params);
    memory             = mmap(NULL, served->arena_size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                              0);
    if (memory == MAP_FAILED) {
        return UCS_ERR_NO_MEMORY;
    }

    served->arena = ucs_arena_init(params, &ops, memory);
    return UCS_OK;
}

ucs_status_t predreg_served_create(const predreg_served_params_t *params,
                                   predreg_account_t *account,
                                   predreg_served_t **served_p)
{
    size_t slab_size = params->slab_size;
    size_t limit     = ucs_max(params->size - (params->size % slab_size),
                               slab_size);
    ucs_arena_params_t super;
    predreg_served_t *served;
    ucs_status_t status;

    served = calloc(1, sizeof(*served));
    if (served == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    served->account = account;
    served->reg     = params->reg;
    served->dereg   = params->dereg;

    ucs_arena_params_default(slab_size, &super);
    super.start     = ARENA_START;
    super.page_size = PREDREG_PAGE_SIZE;
    ucs_arena_params_grow(&super, ucs_min(params->first_slab, slab_size),
                          limit);
    status = create_arena(served, &super);
    if (status != UCS_OK) {
        predreg_served_destroy(served);
        return status;
    }

    *served_p = served;
    return UCS_OK;
}

void predreg_served_destroy(predreg_served_t *served)
{
    if (served->arena != NULL) {
        ucs_arena_cleanup(served->arena);
        munmap(served->arena, served->arena_size);
    }
    free(served->slabs);
    free(served->mappings);
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

/* @return the first mapping that ends after an address, of which there may be
 * none: its number is that of all mappings then */
static size_t find_after(const predreg_served_t *served, uint64_t address)
{
    size_t low = 0, high = served->num_mappings;
    size_t middle;

    while (low < high) {
        middle = low + ((high - low) / 2);
        if (served->mappings[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Make room for a mapping in the list. @return 0 if there is no memory */
static int insert(predreg_served_t *served, size_t index,
                  const mapping_t *mapping)
{
    size_t num = ucs_max(2 * served->max_mappings, 64ul);
    mapping_t *mappings;

    if (served->num_mappings == served->max_mappings) {
        mappings = realloc(served->mappings, num * sizeof(*mappings));
        if (mappings == NULL) {
            served->status = UCS_ERR_NO_MEMORY;
            return 0;
        }

        served->mappings     = mappings;
        served->max_mappings = num;
    }

    memmove(&served->mappings[index + 1], &served->mappings[index],
            (served->num_mappings - index) * sizeof(*mapping));
    served->mappings[index] = *mapping;
    ++served->num_mappings;
    return 1;
}

static void erase(predreg_served_t *served, size_t index)
{
    --served->num_mappings;
    memmove(&served->mappings[index], &served->mappings[index + 1],
            (served->num_mappings - index) * sizeof(*served->mappings));
}

/* Free [start, end) of a mapping. What is left of it stays. @return the number of
 * the mapping behind what was freed */
static size_t cut(predreg_served_t *served, size_t index, uint64_t start,
                  uint64_t end)
{
    mapping_t *mapping = &served->mappings[index];
    mapping_t rest     = *mapping;

    start = ucs_max(start, mapping->start);
    end   = ucs_min(end, mapping->end);
    (void)ucs_arena_free(served->arena,
                         (void*)(mapping->place + (start - mapping->start)),
                         end - start, served->now);

    rest.place += end - rest.start;
    rest.start  = end;
    if (mapping->start < start) {
        mapping->end = start;
        ++index;
        if (rest.start < rest.end) {
            (void)insert(served, index, &rest);
        }
    } else if (rest.start < rest.end) {
        *mapping = rest;
    } else {
        erase(served, index);
    }
    return index;
}

/* What of it came from the arena is free there */
static void unmap(predreg_served_t *served, uint64_t start, uint64_t end)
{
    size_t index = find_after(served, start);

    while ((index < served->num_mappings) &&
           (served->mappings[index].start < end)) {
        index = cut(served, index, start, end);
    }
}

/* Whole pages, as the kernel maps and unmaps them */
static void to_pages(uint64_t *start_p, uint64_t *end_p)
{
    *start_p -= *start_p % PREDREG_PAGE_SIZE;
    *end_p   += PREDREG_PAGE_SIZE - 1;
    *end_p   -= *end_p % PREDREG_PAGE_SIZE;
}

void predreg_served_map(predreg_served_t *served, const predreg_map_t *map,
                        uint64_t now)
{
    mapping_t mapping = { .start = map->start, .end = map->end };
    void *place;

    served->now = now;
    to_pages(&mapping.start, &mapping.end);
    /* What was there must be gone, even if nothing in the trace says so */
    unmap(served, mapping.start, mapping.end);
    place = ucs_arena_allocate(served->arena, mapping.end - mapping.start);
    note_peak(served);
    if (place == NULL) {
        return;
    }

    mapping.place = (uintptr_t)place;
    if (!insert(served, find_after(served, mapping.start), &mapping)) {
        (void)ucs_arena_free(served->arena, place, mapping.end - mapping.start,
                             now);
    }
}

void predreg_served_unmap(predreg_served_t *served,
                          const predreg_unmap_t *event, uint64_t now)
{
    uint64_t start = event->start;
    uint64_t end   = event->end;

    served->now = now;
    to_pages(&start, &end);
    unmap(served, start, end);
}

void *predreg_served_begin(predreg_served_t *served, const predreg_use_t *use,
                           predreg_site_t *site, uint64_t now)
{
    size_t index = find_after(served, use->address);
    const mapping_t *mapping;
    ucs_arena_slab_t *super;
    slab_t *slab;

    if (index == served->num_mappings) {
        return NULL;
    }

    mapping = &served->mappings[index];
    if ((use->address < mapping->start) ||
        (use->length > mapping->end - use->address)) {
        return NULL;
    }

    super = ucs_arena_find(served->arena,
                           (void*)(mapping->place +
                                   (use->address - mapping->start)),
                           use->length);
    if (super == NULL) {
        (void)ucs_arena_want(served->arena,
                             (void*)(mapping->place +
                                     (use->address - mapping->start)),
                             use->length);
        return NULL;
    }

    slab = slab_of(served, super);
    settle(served, slab, now);
    if ((slab->state != SLAB_REGISTERED) || !ucs_arena_slab_acquire(super)) {
        return NULL;
    }

    predreg_holding_use(served->account, &slab->holding, site, now);
    return super;
}

void predreg_served_end(predreg_served_t *served, void *super, uint64_t now)
{
    predreg_holding_unuse(served->account,
                          &slab_of(served, super)->holding, now);
    ucs_arena_slab_release(super);
}

ucs_status_t predreg_served_finish(predreg_served_t *served, uint64_t now,
                                   uint64_t *helper_p, uint64_t *peak_p)
{
    size_t num = served->arena->slabs.num;
    slab_t *slab;

    for (slab = served->slabs; slab < served->slabs + num; ++slab) {
        settle(served, slab, now);
        if (slab->state != SLAB_GONE) {
            predreg_holding_close(served->account, &slab->holding, now);
        }
    }
    *helper_p = served->helper;
    /* Smaller slabs would go with less, in which long mappings have no room */
    *peak_p   = ucs_rcache_pred_align_up(served->peak,
                                         served->arena->params.slab_size);
    return served->status;
}
