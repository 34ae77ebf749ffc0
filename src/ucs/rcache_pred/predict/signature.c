/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "signature.h"


/* The finalizer of SplitMix64 (G. Steele et al., OOPSLA'14). Every bit of the
 * input changes every bit of the output, for the price of some multiplications
 * and shifts */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ul;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebul;
    x ^= x >> 31;
    return x;
}

uint64_t ucs_rcache_pred_signature(const ucs_rcache_pred_context_t *context,
                                   uint64_t region, uintptr_t address,
                                   uint64_t length)
{
    uint64_t hash;

    hash = mix(context->caller);
    hash = mix(hash ^ context->stack);
    hash = mix(hash ^ context->window);
    hash = mix(hash ^ region);
    hash = mix(hash ^ address);
    hash = mix(hash ^ length);
    return (hash == 0) ? 1 : hash;
}

uint64_t
ucs_rcache_pred_signature_of_place(const ucs_rcache_pred_context_t *context)
{
    uint64_t hash = mix(mix(context->caller) ^ context->stack);

    return (hash == 0) ? 1 : hash;
}

uint64_t ucs_rcache_pred_signature_of_way(uint64_t place, uint64_t length)
{
    uint64_t hash = mix(place ^ mix(length));

    return (hash == 0) ? 1 : hash;
}

uint64_t ucs_rcache_pred_signature_in_phase(uint64_t signature, unsigned phase)
{
    uint64_t hash = mix(signature ^ mix(phase + 1));

    return (hash == 0) ? 1 : hash;
}
