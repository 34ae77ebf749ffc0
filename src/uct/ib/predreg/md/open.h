/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_OPEN_H_
#define UCT_PREDREG_OPEN_H_

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file open.h
 *
 * Memory domains and interfaces of UCT come and go: those worth managing are
 * entered into the table of domains. The overridden functions of UCT call
 * these, see hooks.h. Any thread.
 */

void uct_predreg_md_opened(uct_md_h md, const char *name);

void uct_predreg_md_closing(uct_md_h md);

/** A domain was queried: under prediction a registration costs what a hit
 *  does. */
void uct_predreg_md_query(uct_md_h md, uct_md_attr_t *attr);

/** An interface was opened: what it is handed in pieces, our operations move.
 *  If it cannot be made to, no pieces are given out in its domain from now
 *  on. */
void uct_predreg_iface_opened(uct_md_h md, uct_worker_h worker,
                              uct_iface_h iface);

END_C_DECLS

#endif
