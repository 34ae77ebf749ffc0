/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_LENGTH_H_
#define UCT_PREDREG_PRELOAD_LENGTH_H_

#include <ucs/sys/compiler_def.h>

#include <ucp/api/ucp.h>

#include <stddef.h>
#include <stdint.h>

/** @file preload/length.h
 *
 * How long a communication of UCP is.
 */

/** The length of a communication with a datatype that is not contiguous. The true length
 *  is not known here, so the communication counts as one of the longest. */
#define PREDREG_LENGTH_UNKNOWN SIZE_MAX

/** @return the length of @a count elements of a datatype, bytes. */
static UCS_F_ALWAYS_INLINE size_t
predreg_length(size_t count, ucp_datatype_t datatype)
{
    size_t length;

    return (((datatype & UCP_DATATYPE_CLASS_MASK) != UCP_DATATYPE_CONTIG) ||
            __builtin_mul_overflow(count, datatype >> UCP_DATATYPE_SHIFT,
                                   &length)) ?
           PREDREG_LENGTH_UNKNOWN : length;
}

/** @return the datatype of the elements that a request of UCP is about. */
static UCS_F_ALWAYS_INLINE ucp_datatype_t
predreg_request_datatype(const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           param->datatype : ucp_dt_make_contig(1);
}

/** @return how many bytes a request of UCP is about. */
static UCS_F_ALWAYS_INLINE size_t
predreg_request_length(size_t count, const ucp_request_param_t *param)
{
    return (param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) ?
           predreg_length(count, param->datatype) : count;
}

#endif
