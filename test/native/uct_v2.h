/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_UCT_V2_H_
#define TEST_NATIVE_UCT_V2_H_

#include <uct/ib/predreg/compat/ucx_api.h>

#include <uct/api/version.h>

/** @file uct_v2.h
 *
 * What the native rig stands in for of UCT's second interface and ucx_api.h does not
 * have, since it differs between versions: as the version of UCX has it that the rig is
 * compiled for. Known are UCX 1.13 to 1.23.
 */

BEGIN_C_DECLS

#if UCT_API >= UCT_VERSION(1, 14)
/* UCX 1.14 to 1.23: bits of uct_md_attr_field_t, which are numbered in the order
 * that the fields had in 1.17 */
enum {
    ATTR_V2_FLAGS = 2,
    ATTR_V2_REG_MEM_TYPES,
#if UCT_API >= UCT_VERSION(1, 15)
    ATTR_V2_REG_NONBLOCK_MEM_TYPES,
#endif
    ATTR_V2_CACHE_MEM_TYPES,
    ATTR_V2_DETECT_MEM_TYPES,
    ATTR_V2_ALLOC_MEM_TYPES,
    ATTR_V2_ACCESS_MEM_TYPES,
    ATTR_V2_DMABUF_MEM_TYPES,
    ATTR_V2_REG_COST
};

/* UCX 1.14 to 1.23, uct_md_attr_v2_t. Further fields follow */
typedef struct attr_v2 {
    uint64_t          field_mask;
    uint64_t          max_alloc;
    size_t            max_reg;
    uint64_t          flags;
    uint64_t          reg_mem_types;
#if UCT_API >= UCT_VERSION(1, 15)
    uint64_t          reg_nonblock_mem_types;
#endif
    uint64_t          cache_mem_types;
#if UCT_API >= UCT_VERSION(1, 18)
    uint64_t          gva_mem_types;
#endif
    uint64_t          detect_mem_types;
    uint64_t          alloc_mem_types;
    uint64_t          access_mem_types;
    uint64_t          dmabuf_mem_types;
    ucs_linear_func_t reg_cost;
} attr_v2_t;
#endif

#if UCT_API >= UCT_VERSION(1, 19)
/* Passed on as it is */
typedef struct uct_rkey_unpack_params uct_rkey_unpack_params_t;

ucs_status_t uct_rkey_unpack_v2(uct_component_h component, const void *buffer,
                                const uct_rkey_unpack_params_t *params,
                                uct_rkey_bundle_t *bundle);
#endif

END_C_DECLS

#endif
