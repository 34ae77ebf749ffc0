/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCX_CACHES_H_
#define UCT_PREDREG_UCX_CACHES_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/hooks.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file ucx_caches.h
 *
 * Switches UCX's own registration caches off while this library manages memory.
 * The overridden functions of UCX that read configurations call these
 * functions, see hooks.h.
 */

/** Switch the cache off in a configuration of UCP that was just read. */
void uct_predreg_ucp_config(uct_predreg_core_t *core,
                            const uct_predreg_real_t *real,
                            ucp_config_t *config);

/** Switch the cache off in a configuration of the memory domains of a component
 *  that was just read, if the component is managed. */
void uct_predreg_md_config(uct_predreg_core_t *core, uct_component_h component,
                           uct_md_config_t *config);

END_C_DECLS

#endif
