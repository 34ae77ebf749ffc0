/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_CONTAINERS_H_
#define PREDREG_CONTAINERS_H_

#include "memory.h"

#include <ucs/base/hash.h>

#include <ucs/datastruct/khash.h>
#include <ucs/sys/preprocessor.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file containers.h
 *
 * Loops over arrays, functions that compare elements for qsort(), and hash tables with
 * two numbers as the key. Uses memory.h.
 *
 * Threads: the functions are pure, but for @ref predreg_kh_put, whose caller owns the
 * table.
 */

/** Go through an array by a pointer to its elements. The address of an empty array may be NULL,
 *  to which C adds nothing, not even 0. */
#define predreg_for_each(_element, _array, _num) \
    for ((_element) = (_array); \
         ((_num) > 0) && ((_element) < (_array) + (_num)); ++(_element))


/** Define a function for qsort(), which sorts structures in the ascending order of some
 *  fields: of two structures, the first field that differs decides. */
#define PREDREG_COMPARE(_name, _type, ...) \
    static int _name(const void *a, const void *b) \
    { \
        const _type *left = a, *right = b; \
        \
        UCS_PP_FOREACH(PREDREG_COMPARE_FIELD, _type, __VA_ARGS__) \
        return 0; \
    }

#define PREDREG_COMPARE_FIELD(_type, _field) \
    if (left->_field != right->_field) { \
        return (left->_field < right->_field) ? -1 : 1; \
    }


/** As kh_put() of khash.h, but ends the program if there is no memory. */
#define predreg_kh_put(_name, _table, _key, _result_p) \
    ({ \
        khiter_t _iter = kh_put(_name, _table, _key, _result_p); \
        if (*(_result_p) == UCS_KH_PUT_FAILED) { \
            predreg_no_memory(); \
        } \
        _iter; \
    })

/** A key of two numbers. */
typedef struct predreg_pair {
    uint64_t first;
    uint64_t second;
} predreg_pair_t;

#define PREDREG_PAIR_HASH(_pair) \
    ucs_hash_pair((_pair).first, (_pair).second)
#define PREDREG_PAIR_EQUAL(_a, _b) \
    (((_a).first == (_b).first) && ((_a).second == (_b).second))

END_C_DECLS

#endif
