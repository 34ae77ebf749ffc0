/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "name.h"

#include <ucs/base/hash.h>

#include <string.h>

/* The kind of communication is in the bits above the caller's address, see
 * ucs_rcache_pred_context_add() */
#define KIND_SHIFT 56


/* Take a word into a hash, in which the order of words counts */
static uint64_t hash_add(uint64_t hash, uint64_t word)
{
    hash = ucs_rcache_pred_hash_word(hash ^ word);
    return ucs_rcache_pred_hash_word(hash ^ (hash >> 32));
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t length)
{
    const uint8_t *next = bytes;

    for (; length > 0; --length) {
        hash = hash_add(hash, *next++);
    }
    return hash;
}

const ucs_rcache_trace_module_t *
ucs_rcache_profile_find_module(const ucs_rcache_trace_module_t *modules,
                               unsigned num_modules, uint64_t address)
{
    while (num_modules-- > 0) {
        if ((address >= modules[num_modules].start) &&
            (address < modules[num_modules].end)) {
            return &modules[num_modules];
        }
    }
    return NULL;
}

static uint64_t add_module(uint64_t hash,
                           const ucs_rcache_trace_module_t *module)
{
    const char *slash;

    if (module->build_id_length > 0) {
        return hash_bytes(hash, module->build_id, module->build_id_length);
    }

    slash = strrchr(module->path, '/');
    slash = (slash == NULL) ? module->path : slash + 1;
    return hash_bytes(hash, slash, strlen(slash));
}

uint64_t
ucs_rcache_profile_name(const ucs_rcache_trace_site_t *site,
                        const ucs_rcache_trace_module_t *modules,
                        unsigned num_modules)
{
    uint64_t hash = hash_add(0, site->caller >> KIND_SHIFT);
    const ucs_rcache_trace_module_t *module;
    unsigned i;

    for (i = 0; i < site->num_frames; ++i) {
        module = ucs_rcache_profile_find_module(modules, num_modules,
                                                site->frames[i]);
        hash   = (module == NULL) ?
                 hash_add(hash, 0) :
                 hash_add(add_module(hash, module),
                          site->frames[i] - module->bias);
    }
    return hash;
}
