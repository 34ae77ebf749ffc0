/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_WIN_PACKED_H_
#define UCP_WIN_PACKED_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file packed.h
 *
 * UCP's packed keys, as bytes. Pure. Up to UCX 1.23 (ucp_rkey.c) a key is
 *
 *   8 bytes    a bit for each domain of the process with the memory that has a
 *              part in the key
 *   1 byte     type of the memory
 *   for each of these domains, in their order:
 *     1 byte   length of its part
 *     the part
 *   and more, which a peer can do without
 *
 * Two keys of one context number the domains alike.
 */

/** @return bytes of a key without what follows its parts, 0 if it is no key:
 *          its parts do not end within @a length. */
size_t ucp_win_packed_size(const void *key, size_t length);

/**
 * Take parts out of a key.
 *
 * @param [inout] key     It gets shorter, and loses what follows its parts.
 * @param [in]    length  Bytes.
 * @param [in]    parts   Bit i: whether the part number i, in their order,
 * goes.
 * @return bytes that are left; 0 if it is no key, which is not changed then.
 */
size_t ucp_win_packed_strip(void *key, size_t length, uint64_t parts);

/**
 * Make one key of two: a domain that has a part in both is in it with that of
 * the first.
 *
 * @param [out] merged  Has room for @a length + @a other_length bytes.
 * @return bytes of it; 0 if one of both is no key.
 */
size_t ucp_win_packed_merge(const void *key, size_t length, const void *other,
                            size_t other_length, void *merged);

END_C_DECLS

#endif
