/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_OPEN_H_
#define UCT_PREDREG_OPEN_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/compat/uct_v2.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file open.h
 *
 * Memory domains and interfaces of UCT that are opened, queried and closed. A
 * domain that is worth managing is entered into the table of domains. The
 * overridden functions of UCT call these functions on any thread, see hooks.h.
 */

void uct_predreg_md_opened(uct_predreg_core_t *core, uct_md_h md,
                           const char *name, unsigned count);

void uct_predreg_md_closing(uct_predreg_core_t *core, uct_md_h md);

/** Change the answer to a query of a domain: under prediction a registration
 *  costs as much as a hit. */
void uct_predreg_md_query(uct_predreg_core_t *core, uct_md_h md,
                          uct_md_attr_t *attr);

/** As uct_predreg_md_query(), through UCT's second interface. */
void uct_predreg_md_query_v2(uct_predreg_core_t *core, uct_md_h md,
                             uct_md_attr_v2_t *attr);

/** Replace the operations of an interface that was opened, so that it
 *  understands pieces handles. If that is not possible, no pieces handles are
 *  given out in its domain from now on. */
void uct_predreg_iface_opened(uct_predreg_core_t *core, uct_md_h md,
                              uct_worker_h worker, uct_iface_h iface);

END_C_DECLS

#endif
