/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_QUIET_H_
#define UCT_PREDREG_QUIET_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file quiet.h
 *
 * Keeps UCX from logging errors of registrations that somebody can do without:
 * the helper's, first attempts, and sends, which UCP copies instead. A flag of
 * the registration says so (UCT_MD_MEM_FLAG_HIDE_ERRORS). UCX 1.13 to 1.15 heed
 * it only in their own cache (ib_md.c: uct_ib_mem_reg() and
 * uct_ib_rcache_mem_reg_cb()), which is switched off, and would log an error
 * for each send of read-only memory.
 *
 * Only messages of the calling thread are dropped. Where UCX registers a large
 * buffer by several threads of its own (UCX_IB_REG_MT_THRESH), those log as
 * ever.
 */

/** Have UCX's log ask this module about each message from now on. To be called
 *  once. */
void uct_predreg_quiet_install(void);

/** Drop the warnings and errors of this thread from now on. Calls nest. */
void uct_predreg_quiet_begin(void);

/** Drop them no longer, unless there was more than one begin. */
void uct_predreg_quiet_end(void);

/** Drop the next error of this thread, if it is UCP's about a registration: UCP
 *  goes on by itself, but says so in the words of an error (1.16 and later
 *  without PROTO_ENABLE, rndv.c). */
void uct_predreg_quiet_once(void);

END_C_DECLS

#endif
