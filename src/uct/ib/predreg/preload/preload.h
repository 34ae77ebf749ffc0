/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_H_
#define UCT_PREDREG_PRELOAD_H_

#include "callers.h"
#include "state.h"

#include <ucp/windows/preload.h>

#include <ucs/sys/compiler_def.h>

#include <stdatomic.h>
#include <stdint.h>

/** @file preload.h
 *
 * How the overriding functions find the core, and the functions that their files share.
 */

#define PREDREG_EXPORT __attribute__((visibility("default")))

/** As ucp_mem_map() of a UCX, but managed domains register a page at most.
 *
 *  @param [out] num_p  How many domains have registered a page. */
ucs_status_t
predreg_map_window(unsigned ucx, ucp_context_h context,
                   const ucp_mem_map_params_t *params, ucp_mem_h *memh_p,
                   unsigned *num_p);


/** Bytes of the table of keys that Open MPI 4 gets from a peer with a dynamic window
 *  (MPI_Win_create_dynamic()): the number of entries, and 32 entries, each of an address,
 *  a length and 1024 bytes for a key (osc_ucx.h of Open MPI 4.0 and 4.1). */
#define PREDREG_DYNAMIC_ENTRY (2 * sizeof(uint64_t) + 1024)
#define PREDREG_DYNAMIC_KEYS  (sizeof(uint64_t) + 32 * PREDREG_DYNAMIC_ENTRY)

/** The functions for libucp_windows.so. */
extern const predreg_windows_env_t predreg_windows_env;


/** @return the functions of libucp_windows.so for operations with a key; NULL: the key is
 *          not that of a window, and the operation goes to UCP. */
const predreg_windows_t *predreg_serving(unsigned ucx, ucp_rkey_h rkey);

/** For use in an overriding function of an operation with a key: the function that the
 *  operation goes to, of libucp_windows.so or of UCP. */
#define PREDREG_ROUTE(_ucx, _rkey, _name) \
    ({ \
        const unsigned routed            = _ucx; \
        const predreg_windows_t *serving = predreg_has_windows() ? \
                                           predreg_serving(routed, _rkey) : NULL; \
        \
        ucs_likely(serving == NULL) ? PREDREG_REAL(routed, _name) : serving->_name; \
    })

/** Load and start the core, unless tried before, if the core works with this UCX. If the
 *  core works with another UCX, print once that nothing of this UCX is managed.
 *  @return the hooks, as predreg_hooks(). */
const uct_predreg_hooks_t *predreg_load(unsigned ucx, const void *caller);

/** @return the functions of the core's UCX, those of UCP included. To be called once the
 *          caller has loaded UCP. */
const uct_predreg_real_t *predreg_real_ucp(unsigned ucx, const void *caller);

#endif
