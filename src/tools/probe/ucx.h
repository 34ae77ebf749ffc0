/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_UCX_H_
#define PREDREG_PROBE_UCX_H_

#include <uct/ib/predreg/compat/compat.h>

#include <ucm/api/ucm.h>

BEGIN_C_DECLS

/** @file ucx.h
 *
 * The UCX that the probe looks at. The probe is linked with nothing of UCX: it
 * loads the libraries that it is told, and finds their functions by name, as a
 * program that was linked with them would.
 */

/** Expands _f for each function that the probe calls itself; those that the
 *  facts about versions need are in compat/real.h. */
#define PREDREG_PROBE_FUNCTIONS(_f) \
    _f(ucm_set_event_handler) \
    _f(ucs_status_string) \
    _f(uct_config_release) \
    _f(uct_md_close) \
    _f(uct_md_config_read) \
    _f(uct_md_open) \
    _f(ucp_cleanup) \
    _f(ucp_config_read) \
    _f(ucp_config_release) \
    _f(ucp_context_print_info) \
    _f(ucp_init_version) \
    _f(ucp_mem_map) \
    _f(ucp_mem_unmap) \
    _f(ucp_worker_create) \
    _f(ucp_worker_destroy)

/** The libraries of UCX, from the bottom up. */
#define PREDREG_PROBE_UCM "libucm.so.0"
#define PREDREG_PROBE_UCS "libucs.so.0"
#define PREDREG_PROBE_UCT "libuct.so.0"
#define PREDREG_PROBE_UCP "libucp.so.0"

typedef struct {
    uct_predreg_real_t         real;    /**< NULL: UCX lacks that function */
    PREDREG_PROBE_FUNCTIONS(UCT_PREDREG_REAL_MEMBER)
    const uct_predreg_compat_t *compat; /**< NULL: this version is not known */
} predreg_probe_ucx_t;


/**
 * Load libraries and say which UCX there is then.
 *
 * @param [in] libraries  What to load, in this order: names, which are looked
 *                        for, or paths; up to a NULL.
 * @return whether its version is known. If not, the reason has been said.
 */
int predreg_probe_load(char *const *libraries, predreg_probe_ucx_t *ucx);

/** @return whether a list has a name; each of its names is followed by a
 *          comma. */
int predreg_probe_is_listed(const char *list, const char *name);

/** @return the text of a status, or its number if UCX has no text. */
const char *predreg_probe_text(const predreg_probe_ucx_t *ucx,
                               ucs_status_t status);

END_C_DECLS

#endif
