/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COLD_H_
#define UCT_PREDREG_COLD_H_

#include <ucp/api/ucp.h>
#include <ucs/reuse/copy.h>
#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file cold.h
 *
 * The datatype of sends that are to be copied. No protocol of UCP sends a
 * generic datatype without copying it (ucp_proto_common_find_lanes() of 1.16 and
 * later, ucp_proto_get_zcopy_threshold() before), so bytes in a row are sent as
 * a generic datatype to have them copied. What goes over the wire is the same.
 */

/** Longest message of this datatype, bytes. */
#define UCT_PREDREG_COLD_MAX_LENGTH 65535

/**
 * Operations of the datatype, for ucp_dt_create_generic(). It can be packed
 * only. Its count is the number of bytes, at most UCT_PREDREG_COLD_MAX_LENGTH;
 * its buffer must have an address of 48 bits, see uct_predreg_cold_can_send().
 * None of them allocates memory; any thread may call them.
 */
extern const ucp_generic_dt_ops_t uct_predreg_cold_ops;

/** Copy these lengths by the string instruction; at first all that are long
 *  enough are. Any thread. */
void uct_predreg_cold_set_copies(ucs_reuse_copy_classes_t classes);

/** @return whether a buffer can be sent with this datatype. */
static UCS_F_ALWAYS_INLINE int
uct_predreg_cold_can_send(const void *buffer, size_t length)
{
    return (((uintptr_t)buffer >> 48) == 0) &&
           (length <= UCT_PREDREG_COLD_MAX_LENGTH);
}

END_C_DECLS

#endif
