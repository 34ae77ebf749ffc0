/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCT_V2_H_
#define UCT_PREDREG_UCT_V2_H_

/** @file uct_v2.h
 *
 * Those parts of UCT's second interface that are overridden or called. libuct
 * exports their functions, but distributions do not install the header that
 * declares their structures, uct/api/v2/uct_v2.h, and that of one version would
 * not do, since this library works beside all of them. These structures are the
 * same in all versions that have them, or have further fields at the end; where
 * the fields of a structure move between versions, compat.h says where they
 * are. test/apps/layouts.c compares that with what a UCX does.
 */

#include <uct/api/uct.h>

BEGIN_C_DECLS

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

/* From 1.13 on. Until 1.15 there are two arguments after the handle, the
 * parameters and the buffer; from 1.16 on four, an address and a length being
 * the first two. This library passes them on as they are. All of them are as wide
 * as a register, and the calling conventions of the machines that UCX is for
 * (x86-64, AArch64, 64-bit PowerPC and RISC-V) pass six of these in registers,
 * where two that are missing do no harm. */
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, uintptr_t arg2,
                                 uintptr_t arg3, uintptr_t arg4,
                                 uintptr_t arg5);

/* What uct_mem_alloc() and uct_mem_free() call for memory of a domain's own, from 1.13
 * on; no installed header has them. Until 1.21 the first has seven arguments, from 1.22 on
 * eight. This library passes them on as they are, as above. Of those on the stack, the one
 * that is missing is a word of the caller's. */
ucs_status_t uct_md_mem_alloc(uct_md_h md, uintptr_t arg1, uintptr_t arg2,
                              uintptr_t arg3, uintptr_t arg4, uintptr_t arg5,
                              uintptr_t arg6, uintptr_t arg7);

ucs_status_t uct_md_mem_free(uct_md_h md, uct_mem_h memh);

/* This library passes the structure on as it is, and needs no fields of it */
typedef struct uct_md_mem_attach_params uct_md_mem_attach_params_t;

/* From 1.14 on */
ucs_status_t uct_md_mem_attach(uct_md_h md, const void *mkey_buffer,
                               uct_md_mem_attach_params_t *params,
                               uct_mem_h *memh_p);

END_C_DECLS

#endif
