/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_REAL_H_
#define UCT_PREDREG_REAL_H_

#include "uct_v2.h"

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

/** @file real.h
 *
 * The functions of the UCX in this process that the core calls, and those that
 * tell its version. The preloaded library finds them by name, since neither
 * library is linked with UCX; unit tests hand the core functions of their own.
 */

/** Expands _f for each of these functions that libuct has in every version that
 *  the core works beside. */
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

/** Expands _f for each of these functions that libuct has in some of them. */
#define UCT_PREDREG_REAL_UCT_SOME(_f) \
    _f(uct_md_mkey_pack_v2) \
    _f(uct_md_mem_reg_v2)

/** Expands _f for each of these functions that libucp has. */
#define UCT_PREDREG_REAL_UCP(_f) \
    _f(ucp_config_modify) \
    _f(ucp_dt_create_generic) \
    _f(ucp_mem_map) \
    _f(ucp_mem_unmap) \
    _f(ucp_config_print) \
    _f(ucp_get_version)

/* In C++ the name would mean the member of the structure, unless it is told
 * that the global function is meant */
#ifdef __cplusplus
#  define UCT_PREDREG_REAL_MEMBER(_name) __typeof__(&::_name) _name;
#else
#  define UCT_PREDREG_REAL_MEMBER(_name) __typeof__(&_name) _name;
#endif

/** The addresses of these functions. Those of UCP are NULL until UCP is loaded:
 *  a program may use UCT alone, at first. Those that this version lacks are
 *  NULL. */
typedef struct uct_predreg_real {
    UCT_PREDREG_REAL_UCT(UCT_PREDREG_REAL_MEMBER)
    UCT_PREDREG_REAL_UCT_SOME(UCT_PREDREG_REAL_MEMBER)
    UCT_PREDREG_REAL_UCP(UCT_PREDREG_REAL_MEMBER)
} uct_predreg_real_t;

#endif
