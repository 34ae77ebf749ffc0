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
 * loads the libraries that it is told, and finds their functions by name. Those of this
 * structure are UCX's own, also where the library of this project is preloaded.
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
    _f(ucp_config_read) \
    _f(ucp_config_release)

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

/** @return the text of a status, or its number if UCX has no text. */
const char *predreg_probe_text(const predreg_probe_ucx_t *ucx,
                               ucs_status_t status);

/** Say how UCP chooses its protocols by a configuration. */
void predreg_probe_protocols(const predreg_probe_ucx_t *ucx,
                             const ucp_config_t *config);

/** Ask UCM for events of unmapped memory as the library does, unmap memory, and say what
 *  came of it: without them a registration cache would not notice that a buffer is
 *  gone. */
void predreg_probe_events(const predreg_probe_ucx_t *ucx);

/** Open each memory domain and say what it is; and what registrations cost, if it
 *  registers, its transports need the handles, and its component is one of these names,
 *  which have a comma after each. */
void predreg_probe_domains(const predreg_probe_ucx_t *ucx, const char *components);

END_C_DECLS

#endif
