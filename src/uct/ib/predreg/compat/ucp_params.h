/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCP_PARAMS_H_
#define UCT_PREDREG_UCP_PARAMS_H_

#include <ucp/api/ucp.h>

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file ucp_params.h
 *
 * The parameters that a program makes a context of UCP with. A bit of their mask means
 * the same field in the same place in every version from 1.13 to 1.23 (ucp_params_t in
 * ucp.h); later versions have more of them at the end. A program may be of an older
 * version than the UCX that it meets, or than this library: only those fields exist
 * which its mask names. And functions of UCP that only later versions have.
 */

/** All fields up to 1.23, in the words of the field and its bit. 1.20 has added the last
 *  one. */
#define UCT_PREDREG_UCP_PARAMS(_f) \
    _f(features, 0) \
    _f(request_size, 1) \
    _f(request_init, 2) \
    _f(request_cleanup, 3) \
    _f(tag_sender_mask, 4) \
    _f(mt_workers_shared, 5) \
    _f(estimated_num_eps, 6) \
    _f(estimated_num_ppn, 7) \
    _f(name, 8) \
    _f(node_local_id, 9)

/** ucp_params_t as 1.20 has it, whichever version this was built with. */
typedef struct uct_predreg_ucp_params {
    uint64_t                       field_mask;
    uint64_t                       features;
    size_t                         request_size;
    ucp_request_init_callback_t    request_init;
    ucp_request_cleanup_callback_t request_cleanup;
    uint64_t                       tag_sender_mask;
    int                            mt_workers_shared;
    size_t                         estimated_num_eps;
    size_t                         estimated_num_ppn;
    const char                     *name;
    size_t                         node_local_id;
} uct_predreg_ucp_params_t;


/** @return whether all fields of a program's parameters are known. */
static inline int uct_predreg_ucp_params_known(const ucp_params_t *params)
{
    uint64_t known = 0;

#define UCT_PREDREG_UCP_PARAMS_BIT(_field, _bit) known |= UCS_BIT(_bit);
    UCT_PREDREG_UCP_PARAMS(UCT_PREDREG_UCP_PARAMS_BIT)
#undef UCT_PREDREG_UCP_PARAMS_BIT
    return !(params->field_mask & ~known);
}

/** Copy a program's parameters, of which all fields are known. */
static inline void uct_predreg_ucp_params_copy(uct_predreg_ucp_params_t *copy,
                                               const ucp_params_t *params)
{
    const uct_predreg_ucp_params_t *from = (const uct_predreg_ucp_params_t*)params;

    *copy = (uct_predreg_ucp_params_t){.field_mask = from->field_mask};
#define UCT_PREDREG_UCP_PARAMS_COPY(_field, _bit) \
    if (from->field_mask & UCS_BIT(_bit)) { \
        copy->_field = from->_field; \
    }
    UCT_PREDREG_UCP_PARAMS(UCT_PREDREG_UCP_PARAMS_COPY)
#undef UCT_PREDREG_UCP_PARAMS_COPY
}


/* ucp_rkey_compare() exists since 1.16, of which the headers of the build may know
 * nothing */
#if UCP_API_VERSION < UCP_VERSION(1, 16)
typedef struct ucp_rkey_compare_params ucp_rkey_compare_params_t;

ucs_status_t ucp_rkey_compare(ucp_worker_h worker, ucp_rkey_h rkey1,
                              ucp_rkey_h rkey2,
                              const ucp_rkey_compare_params_t *params, int *result);
#endif

END_C_DECLS

#endif
