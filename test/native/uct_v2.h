/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_NATIVE_UCT_V2_H_
#define TEST_NATIVE_UCT_V2_H_

#include <uct/api/uct.h>
#include <uct/api/version.h>

/** @file uct_v2.h
 *
 * Those parts of UCT's second interface that the native rig stands in for, as
 * the version of UCX has them that it is compiled for. libuct exports their
 * functions, but distributions do not install the header that declares them,
 * uct/api/v2/uct_v2.h. Known are UCX 1.13 to 1.23.
 */

BEGIN_C_DECLS

/* UCX 1.13 to 1.23: uct_md_mem_dereg_field_mask_t, uct_md_mem_dereg_flags_t */
enum {
    UCT_MD_MEM_DEREG_FIELD_MEMH      = UCS_BIT(0),
    UCT_MD_MEM_DEREG_FIELD_FLAGS     = UCS_BIT(1),
    UCT_MD_MEM_DEREG_FLAG_INVALIDATE = UCS_BIT(0)
};

/* UCX 1.13 to 1.23 */
typedef struct uct_md_mem_dereg_params {
    uint64_t         field_mask;
    unsigned         flags;
    uct_mem_h        memh;
    uct_completion_t *comp;
} uct_md_mem_dereg_params_t;

ucs_status_t uct_md_mem_dereg_v2(uct_md_h md,
                                 const uct_md_mem_dereg_params_t *params);

/* Passed on as it is */
typedef struct uct_md_mkey_pack_params uct_md_mkey_pack_params_t;

#if UCT_API >= UCT_VERSION(1, 16)
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, void *address,
                                 size_t length,
                                 const uct_md_mkey_pack_params_t *params,
                                 void *buffer);
#else
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
                                 const uct_md_mkey_pack_params_t *params,
                                 void *buffer);
#endif

#if UCT_API >= UCT_VERSION(1, 14)
/* UCX 1.14 to 1.23: uct_md_mem_reg_field_mask_t */
enum {
    UCT_MD_MEM_REG_FIELD_FLAGS = UCS_BIT(0)
};

/* UCX 1.14 to 1.23. Further fields follow, which are passed on as they are */
typedef struct uct_md_mem_reg_params {
    uint64_t field_mask;
    uint64_t flags;
} uct_md_mem_reg_params_t;

ucs_status_t uct_md_mem_reg_v2(uct_md_h md, void *address, size_t length,
                               const uct_md_mem_reg_params_t *params,
                               uct_mem_h *memh_p);

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

/* UCX 1.14 to 1.23. Further fields follow */
typedef struct uct_md_attr_v2 {
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
} uct_md_attr_v2_t;

ucs_status_t uct_md_query_v2(uct_md_h md, uct_md_attr_v2_t *attr);
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
