/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_FIREHOSE_H_
#define UCT_PREDREG_FIREHOSE_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/addon.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file firehose.h
 *
 * What the core does for libucp_firehose.so and libucp_windows.so: an add-on. Both pin
 * memory through UCP; md/foreign.c handles these registrations.
 */

extern const uct_predreg_addon_t uct_predreg_firehose_addon;

/** @param [in] domains  In how many managed domains each byte is registered. 0: in all
 *                       managed domains of the process.
 *  @return how many bytes Firehose may pin within the bounds of the process and of the
 *          node, if this process registers nothing else, and if each other rank of the
 *          job on the node takes as much as this one; UINT64_MAX: there are no bounds, or no
 *          managed domains. */
uint64_t uct_predreg_firehose_room(uct_predreg_core_t *core, unsigned domains);

/** Add to the counts of requests to Firehose, and of hits, i.e. requests without a
 *  message to the peer. Any thread. */
void uct_predreg_firehose_count(uint64_t requests, uint64_t hits);

END_C_DECLS

#endif
