/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCX_API_H_
#define UCT_PREDREG_UCX_API_H_

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file ucx_api.h
 *
 * The functions and structures of UCX that this library calls or overrides, and that no
 * header of a distribution declares, or not in the form of each version.
 */


/*
 * UCT's second interface. libuct exports the functions, but distributions do not install
 * the header with the structures, uct/api/v2/uct_v2.h. The header of one version would not
 * do, since this library works beside all versions. The structures below are the same in
 * all versions, or have further fields at the end; where the fields of a structure move
 * between versions, compat.h has their offsets. test/apps/layouts.c compares the offsets
 * with a UCX.
 */

/* UCX 1.13 to 1.23, uct_v2.h: uct_md_mem_dereg_field_mask_t */
enum {
    UCT_MD_MEM_DEREG_FIELD_MEMH       = UCS_BIT(0),
    UCT_MD_MEM_DEREG_FIELD_FLAGS      = UCS_BIT(1),
    UCT_MD_MEM_DEREG_FIELD_COMPLETION = UCS_BIT(2)
};

/* UCX 1.13 to 1.23, uct_v2.h: uct_md_mem_dereg_flags_t */
enum {
    UCT_MD_MEM_DEREG_FLAG_INVALIDATE  = UCS_BIT(0)
};

/* UCX 1.13 to 1.23, uct_v2.h */
typedef struct uct_md_mem_dereg_params {
    uint64_t         field_mask;
    unsigned         flags;
    uct_mem_h        memh;
    uct_completion_t *comp;
} uct_md_mem_dereg_params_t;

ucs_status_t uct_md_mem_dereg_v2(uct_md_h md,
                                 const uct_md_mem_dereg_params_t *params);

/* UCX 1.14 to 1.23, uct_v2.h: uct_md_mem_reg_field_mask_t */
enum {
    UCT_MD_MEM_REG_FIELD_FLAGS         = UCS_BIT(0),
    UCT_MD_MEM_REG_FIELD_DMABUF_FD     = UCS_BIT(1),
    UCT_MD_MEM_REG_FIELD_DMABUF_OFFSET = UCS_BIT(2),
    UCT_MD_MEM_REG_FIELD_MEM_TYPE      = UCS_BIT(3) /* From 1.22 on */
};

/* UCX 1.14 to 1.23, uct_v2.h. The type of the memory is there from 1.22 on */
typedef struct uct_md_mem_reg_params {
    uint64_t          field_mask;
    uint64_t          flags;
    int               dmabuf_fd;
    size_t            dmabuf_offset;
    ucs_memory_type_t mem_type;
} uct_md_mem_reg_params_t;

/* From 1.14 on */
ucs_status_t uct_md_mem_reg_v2(uct_md_h md, void *address, size_t length,
                               const uct_md_mem_reg_params_t *params,
                               uct_mem_h *memh_p);

/* From 1.14 on. Only the mask of its fields is in the same place in all
 * versions */
typedef struct uct_md_attr_v2 {
    uint64_t         field_mask;
} uct_md_attr_v2_t;

/* From 1.14 on */
ucs_status_t uct_md_query_v2(uct_md_h md, uct_md_attr_v2_t *md_attr);

/* From 1.13 on. Until 1.15 there are two arguments after the handle, the parameters and
 * the buffer; from 1.16 on four, an address and a length being the first two. This
 * library passes the arguments on as they are. Each argument is as wide as a register,
 * and the calling conventions of UCX's machines (x86-64, AArch64, 64-bit PowerPC and
 * RISC-V) pass six arguments in registers, where two missing ones do no harm. */
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, uintptr_t arg2,
                                 uintptr_t arg3, uintptr_t arg4,
                                 uintptr_t arg5);

/* uct_mem_alloc() and uct_mem_free() call these for memory of a domain's own, from 1.13
 * on; no installed header has them. Up to 1.21 uct_md_mem_alloc() has seven arguments,
 * from 1.22 on eight. This library passes the arguments on as they are, as those of
 * uct_md_mkey_pack_v2(). If an eighth argument is missing, a word of the caller's stack
 * is passed on. */
ucs_status_t uct_md_mem_alloc(uct_md_h md, uintptr_t arg1, uintptr_t arg2,
                              uintptr_t arg3, uintptr_t arg4, uintptr_t arg5,
                              uintptr_t arg6, uintptr_t arg7);

ucs_status_t uct_md_mem_free(uct_md_h md, uct_mem_h memh);

/* This library passes the structure on, and needs no fields */
typedef struct uct_md_mem_attach_params uct_md_mem_attach_params_t;

/* From 1.14 on */
ucs_status_t uct_md_mem_attach(uct_md_h md, const void *mkey_buffer,
                               uct_md_mem_attach_params_t *params,
                               uct_mem_h *memh_p);


/*
 * The parameters of a context of UCP. A bit of the mask means the same field in the same
 * place in every version from 1.13 to 1.23 (ucp_params_t in ucp.h); later versions have
 * more fields at the end. A program may be of an older version than its UCX or this
 * library: only the fields in the mask exist.
 */

/** Expands _f for each field up to 1.23, with the field's name and the number of its bit.
 *  1.20 has added the last field. */
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

/** ucp_params_t of 1.20, whichever version is the build's. */
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


/** @return whether this library knows all fields that a program's parameters have. */
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


/* ucp_rkey_compare() exists since 1.16. The headers of the build may be older, and lack its
 * parameters */
#if UCP_API_VERSION < UCP_VERSION(1, 16)
typedef struct ucp_rkey_compare_params ucp_rkey_compare_params_t;

ucs_status_t ucp_rkey_compare(ucp_worker_h worker, ucp_rkey_h rkey1,
                              ucp_rkey_h rkey2,
                              const ucp_rkey_compare_params_t *params, int *result);
#endif


/*
 * Functions of the UCX in this process: the core calls them, or asks them for the version.
 * The preloaded library finds them by name, since neither library is linked with UCX; unit
 * tests hand functions of their own to the core.
 */

/** Expands _f for each function of libuct in all supported versions. */
#define UCT_PREDREG_REAL_UCT(_f) \
    _f(uct_query_components) \
    _f(uct_release_component_list) \
    _f(uct_component_query) \
    _f(uct_config_get) \
    _f(uct_config_modify) \
    _f(uct_worker_progress_register_safe) \
    _f(uct_worker_progress_unregister_safe) \
    _f(uct_md_query) \
    _f(uct_md_mem_reg) \
    _f(uct_md_mem_dereg_v2)

/** Expands _f for each function of libuct in some versions only. */
#define UCT_PREDREG_REAL_UCT_SOME(_f) \
    _f(uct_md_mkey_pack_v2) \
    _f(uct_md_mem_reg_v2)

/** Expands _f for each function of libucp. */
#define UCT_PREDREG_REAL_UCP(_f) \
    _f(ucp_config_modify) \
    _f(ucp_dt_create_generic) \
    _f(ucp_mem_map) \
    _f(ucp_mem_unmap) \
    _f(ucp_config_print) \
    _f(ucp_get_version)

/* In C++ the plain name would mean the member, not the function */
#ifdef __cplusplus
#  define UCT_PREDREG_REAL_MEMBER(_name) __typeof__(&::_name) _name;
#else
#  define UCT_PREDREG_REAL_MEMBER(_name) __typeof__(&_name) _name;
#endif

/** The addresses of the functions; NULL for each function that this version of UCX lacks.
 *  UCP's functions are NULL until UCP is loaded: a program may use UCT alone at first. */
typedef struct uct_predreg_real {
    UCT_PREDREG_REAL_UCT(UCT_PREDREG_REAL_MEMBER)
    UCT_PREDREG_REAL_UCT_SOME(UCT_PREDREG_REAL_MEMBER)
    UCT_PREDREG_REAL_UCP(UCT_PREDREG_REAL_MEMBER)
} uct_predreg_real_t;

END_C_DECLS

#endif
