/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucp_param.h"

#include <ucs/sys/compiler_def.h>

#include <stddef.h>
#include <string.h>

/* The structure has these fields since there is one (ucp.h of UCX 1.9), so that
 * they may be read whether they are set or not. As to the others, a program may
 * have been compiled with a shorter structure than this library. */
#define OLD_PART (offsetof(ucp_request_param_t, user_data) + sizeof(void*))

#define NEW_FIELDS \
    (UCP_OP_ATTR_FIELD_REPLY_BUFFER | UCP_OP_ATTR_FIELD_MEMORY_TYPE | \
     UCP_OP_ATTR_FIELD_RECV_INFO | UCP_OP_ATTR_FIELD_MEMH)


static UCS_F_NOINLINE void
copy_new_fields(ucp_request_param_t *copy, const ucp_request_param_t *param)
{
#define COPY_FIELD(_bit, _field) \
    if (param->op_attr_mask & UCP_OP_ATTR_FIELD_##_bit) { \
        copy->_field = param->_field; \
    }
    COPY_FIELD(REPLY_BUFFER, reply_buffer)
    COPY_FIELD(MEMORY_TYPE, memory_type)
    COPY_FIELD(RECV_INFO, recv_info)
    COPY_FIELD(MEMH, memh)
#undef COPY_FIELD
}

void predreg_param_drop_memh(ucp_request_param_t *copy,
                             const ucp_request_param_t *param)
{
    memcpy(copy, param, OLD_PART);
    copy_new_fields(copy, param);
    copy->op_attr_mask &= ~(uint32_t)UCP_OP_ATTR_FIELD_MEMH;
}

void predreg_param_change(ucp_request_param_t *copy,
                          const ucp_request_param_t *param, unsigned changes,
                          const uct_predreg_send_t *send)
{
    memcpy(copy, param, OLD_PART);
    if (ucs_unlikely(param->op_attr_mask & NEW_FIELDS)) {
        copy_new_fields(copy, param);
    }

    if (changes & UCT_PREDREG_SEND_DATATYPE) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
        copy->datatype      = send->datatype;
    }

    if (changes & UCT_PREDREG_SEND_HOT) {
        copy->op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH |
                              UCP_OP_ATTR_FIELD_CALLBACK |
                              UCP_OP_ATTR_FIELD_USER_DATA;
        copy->memh          = send->memh;
        copy->cb.send       = send->cb;
        copy->user_data     = send->user_data;
    }

    if (changes & UCT_PREDREG_SEND_FAST) {
        copy->op_attr_mask |= UCP_OP_ATTR_FLAG_FAST_CMPL;
    }
}
