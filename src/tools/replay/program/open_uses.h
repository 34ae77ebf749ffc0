/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_OPEN_USES_H_
#define PREDREG_OPEN_USES_H_

#include <ucs/datastruct/khash.h>
#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file open_uses.h
 *
 * The uses that are under way at a point of a trace, by the number that the
 * events of their begin and end have in common. Uses that have begun with the
 * same number end in the order of their begins. timeline.c calls these
 * functions.
 */

/** Stands for no use. */
#define PREDREG_NO_USE SIZE_MAX

/** The uses under way that have the same number, oldest first. */
typedef struct predreg_same_uses {
    size_t first;
    size_t last;
} predreg_same_uses_t;

KHASH_INIT(predreg_open_uses, uint64_t, predreg_same_uses_t, 1,
           kh_int64_hash_func, kh_int64_hash_equal)

typedef struct predreg_open_uses {
    khash_t(predreg_open_uses) by_id;
    size_t                     *next; /**< For each use under way, the next one
                                           with the same number, or
                                           PREDREG_NO_USE */
} predreg_open_uses_t;


/** @param [in] num_uses  The indices of uses are below it.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_open_uses_init(predreg_open_uses_t *open, size_t num_uses);

void predreg_open_uses_cleanup(predreg_open_uses_t *open);

/** Note that a use begins, which an end with its number can end from now on.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t predreg_open_uses_begin(predreg_open_uses_t *open, uint64_t id,
                                     size_t index);

/** Note that a use with this number ends.
 *  @return its index, or PREDREG_NO_USE if none is under way. */
size_t predreg_open_uses_end(predreg_open_uses_t *open, uint64_t id);

END_C_DECLS

#endif
