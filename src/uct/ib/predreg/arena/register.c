/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "register.h"
#include "system.h"

#include <ucs/debug/log_def.h>

#include <string.h>


/* Logarithm of the entries of the smallest table. A table has twice as many
 * entries as there can be handles, so that a search soon meets an empty one */
#define MIN_BITS 4


static unsigned bits_of(size_t max)
{
    unsigned bits = MIN_BITS;

    while ((1ul << bits) < 2 * max) {
        ++bits;
    }
    return bits;
}

static size_t table_size(unsigned bits)
{
    return sizeof(uct_predreg_handles_entry_t) << bits;
}

size_t uct_predreg_handles_memory_size(size_t max)
{
    return 2 * table_size(bits_of(max));
}

void uct_predreg_handles_init(uct_predreg_handles_t *handles, size_t max,
                              void *memory)
{
    handles->bits      = bits_of(max);
    handles->tables[0] = memory;
    handles->tables[1] = (void*)((char*)memory + table_size(handles->bits));
    atomic_init(&handles->version, 0);
}

/* The table that nobody reads */
static uct_predreg_handles_entry_t *
other_table(const uct_predreg_handles_t *handles)
{
    return handles->tables[(ucs_relaxed_load(&handles->version) + 1) & 1];
}

void uct_predreg_handles_begin(uct_predreg_handles_t *handles)
{
    uct_predreg_handles_entry_t *table = other_table(handles);
    size_t i;

    /* A late reader of this table, who sees any of the stores from here on, also sees
     * that the version has changed, and searches again in the current table */
    atomic_thread_fence(memory_order_release);
    for (i = 0; i < 1ul << handles->bits; ++i) {
        ucs_relaxed_store(&table[i].handle, 0);
    }
}

void uct_predreg_handles_put(uct_predreg_handles_t *handles, uint64_t handle,
                             uint32_t slab)
{
    uct_predreg_handles_entry_t *table = other_table(handles);
    size_t mask                        = (1ul << handles->bits) - 1;
    size_t i                           = ucs_hash_bits(handle, handles->bits);

    while (ucs_relaxed_load(&table[i].handle) != 0) {
        i = (i + 1) & mask;
    }
    ucs_relaxed_store(&table[i].slab, slab);
    ucs_relaxed_store(&table[i].handle, handle);
}

void uct_predreg_handles_end(uct_predreg_handles_t *handles)
{
    atomic_fetch_add_explicit(&handles->version, 1, memory_order_release);
}

static size_t max_handles(uint32_t num_slabs)
{
    return (size_t)num_slabs * UCT_PREDREG_ARENA_DOMAINS;
}

static size_t slabs_size(uint32_t num_slabs)
{
    return num_slabs * sizeof(uct_predreg_arena_memhs_t);
}

size_t uct_predreg_arena_regs_memory_size(uint32_t num_slabs)
{
    return slabs_size(num_slabs) +
           uct_predreg_handles_memory_size(max_handles(num_slabs));
}

void uct_predreg_arena_regs_init(uct_predreg_arena_regs_t *regs, void *memory)
{
    regs->slabs = memory;
    uct_predreg_handles_init(&regs->handles, max_handles(regs->num_slabs),
                             (char*)memory + slabs_size(regs->num_slabs));
    ucs_mutex_init(&regs->lock, UCS_RANK_ARENA_REGS, 0);
}

void uct_predreg_arena_regs_cleanup(uct_predreg_arena_regs_t *regs)
{
    ucs_mutex_destroy(&regs->lock);
}

static void *
slab_memory(const uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    return (void*)(regs->base + (slab * regs->spacing));
}

/* Make the table of handles anew */
static void show_handles(uct_predreg_arena_regs_t *regs)
{
    unsigned number;
    uint32_t slab;
    uct_mem_h memh;

    uct_predreg_handles_begin(&regs->handles);
    for (slab = 0; slab < regs->num_slabs; ++slab) {
        for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
            memh = regs->slabs[slab].memhs[number];
            if (memh != NULL) {
                uct_predreg_handles_put(&regs->handles, (uintptr_t)memh, slab);
            }
        }
    }
    uct_predreg_handles_end(&regs->handles);
}

/* Have the kernel make huge pages of a slab before the slab is pinned, since pinned pages
 * stay as they are; not if the program has given advice for a part of the slab */
static void collapse(uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    void *start   = slab_memory(regs, slab);
    size_t length = regs->slabs[slab].length;

    if (!uct_predreg_altered_has(regs->advised, (uintptr_t)start,
                                 (uintptr_t)start + length)) {
        uct_predreg_system_collapse(start, length);
    }
}

/* Register a slab in a domain. No use finds the handle before the caller has put the
 * handles of all domains into the table */
static ucs_status_t
enter(uct_predreg_arena_regs_t *regs, uint32_t slab, unsigned number)
{
    const uct_predreg_arena_reg_ops_t *ops = &regs->ops;
    size_t length                          = regs->slabs[slab].length;
    uct_mem_h *memh_p                      = &regs->slabs[slab].memhs[number];
    ucs_status_t status;

    status = ops->reserve(ops->arg, length);
    if (status != UCS_OK) {
        return status;
    }

    collapse(regs, slab);
    status = ops->mem_reg(regs->domains[number], slab_memory(regs, slab),
                          length, regs->flags, memh_p);
    if (status != UCS_OK) {
        *memh_p = NULL;
        ops->release(ops->arg, length);
    }
    return status;
}

/* Deregister a handle that nobody can look up any more. A handle that UCX cannot deregister
 * is lost: nobody tries again, and the memory counts within the bounds for good */
static void leave(uct_predreg_arena_regs_t *regs, uint32_t slab, uct_mem_h memh,
                  unsigned number)
{
    const uct_predreg_arena_reg_ops_t *ops = &regs->ops;
    ucs_status_t status;

    status = ops->mem_dereg(regs->domains[number], memh);
    if (status != UCS_OK) {
        ucs_warn("memory of the arena stays registered: %s",
                 ucs_status_string(status));
    } else {
        ops->release(ops->arg, regs->slabs[slab].length);
    }
}

static int find_free(const uct_predreg_arena_regs_t *regs)
{
    int number;

    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        if (regs->domains[number] == NULL) {
            return number;
        }
    }
    return -1;
}

int uct_predreg_arena_regs_add(uct_predreg_arena_regs_t *regs, void *domain)
{
    int number;

    ucs_mutex_lock(&regs->lock);
    number = find_free(regs);
    if (number >= 0) {
        regs->domains[number] = domain;
    }
    ucs_mutex_unlock(&regs->lock);
    return number;
}

void uct_predreg_arena_regs_remove(uct_predreg_arena_regs_t *regs,
                                   unsigned number)
{
    uct_mem_h memh;
    uint32_t slab;

    ucs_mutex_lock(&regs->lock);
    for (slab = 0; slab < regs->num_slabs; ++slab) {
        memh = regs->slabs[slab].memhs[number];
        if (memh != NULL) {
            regs->slabs[slab].memhs[number] = NULL;
            show_handles(regs);
            leave(regs, slab, memh, number);
        }
    }
    regs->domains[number] = NULL;
    ucs_mutex_unlock(&regs->lock);
}

/* Deregister an unused slab in all domains */
static void leave_all(uct_predreg_arena_regs_t *regs, uint32_t slab)
{
    uct_predreg_arena_memhs_t memhs = regs->slabs[slab];
    unsigned number;

    memset(regs->slabs[slab].memhs, 0, sizeof(memhs.memhs));
    show_handles(regs);
    for (number = 0; number < UCT_PREDREG_ARENA_DOMAINS; ++number) {
        if (memhs.memhs[number] != NULL) {
            leave(regs, slab, memhs.memhs[number], number);
        }
    }
}

ucs_status_t uct_predreg_arena_regs_reg(uct_predreg_arena_regs_t *regs,
                                        void *start, size_t length,
                                        void **handle_p)
{
    uint32_t slab       = ((uintptr_t)start - regs->base) / regs->spacing;
    ucs_status_t status = UCS_OK;
    unsigned number;

    ucs_mutex_lock(&regs->lock);
    regs->slabs[slab].length = length;
    for (number = 0; (number < UCT_PREDREG_ARENA_DOMAINS) && (status == UCS_OK);
         ++number) {
        if (regs->domains[number] != NULL) {
            status = enter(regs, slab, number);
        }
    }

    if (status == UCS_OK) {
        show_handles(regs);
        *handle_p = &regs->slabs[slab];
    } else {
        leave_all(regs, slab);
    }
    ucs_mutex_unlock(&regs->lock);
    return status;
}

void uct_predreg_arena_regs_dereg(uct_predreg_arena_regs_t *regs,
                                  uct_predreg_arena_memhs_t *memhs)
{
    ucs_mutex_lock(&regs->lock);
    leave_all(regs, memhs - regs->slabs);
    ucs_mutex_unlock(&regs->lock);
}
