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
 * declares their structures, uct/api/v2/uct_v2.h. The layouts are those of UCX
 * 1.13; up to 1.23 fields were only added at the end.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include <uct/api/uct.h>
#include <uct/api/version.h>

#ifdef HAVE_UCT_API_V2_UCT_V2_H
#  include <uct/api/v2/uct_v2.h>
#else

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

/* This library passes the structure on as it is, and needs no fields of it */
typedef struct uct_md_mkey_pack_params uct_md_mkey_pack_params_t;

ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
                                 const uct_md_mkey_pack_params_t *params,
                                 void *rkey_buffer);

END_C_DECLS

#endif

#endif
