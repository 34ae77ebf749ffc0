/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_PRELOAD_FIREHOSE_H_
#define UCT_PREDREG_PRELOAD_FIREHOSE_H_

#include <ucp/api/ucp.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file firehose/preload/firehose.h
 *
 * Functions of libuct_predreg.so for libucp_firehose.so, found by weak references: NULL
 * in a process where libuct_predreg.so is not preloaded. The number at the end of a name
 * is raised when the meaning changes; libraries of versions that do not fit each other
 * go on without the functions.
 *
 * Any thread may call the functions. A call is about the UCX of its caller.
 */

/**
 * As ucp_mem_map(), for buckets, the units in which Firehose pins memory. A bucket is no
 * use of the cache, but counts within the bounds, as a registration with each managed
 * memory domain, until ucp_mem_unmap() unmaps the bucket. Idle regions of the cache give
 * way.
 *
 * @return what ucp_mem_map() does; UCS_ERR_EXCEEDS_LIMIT if there is no room
 *         within the bounds, which is not logged.
 */
ucs_status_t predreg_firehose_map_1(ucp_context_h context,
                                    const ucp_mem_map_params_t *params,
                                    ucp_mem_h *memh_p);

/** @return how many bytes of buckets of a context the bounds have room for, if
 *          nothing else is registered; UINT64_MAX: there are no bounds. The room becomes
 *          less when UCX locks more memory for itself and the system limits it. */
uint64_t predreg_firehose_room_2(ucp_context_h context);

/** Add to the counts of requests to Firehose, and of the hits among them, which needed no
 *  message to the peer; the summary shows both. Waits for nothing. */
void predreg_firehose_count_1(uint64_t requests, uint64_t hits);

END_C_DECLS

#endif
