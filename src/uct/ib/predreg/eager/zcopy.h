/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ZCOPY_H_
#define UCT_PREDREG_ZCOPY_H_

#include <ucs/sys/compiler_def.h>
#include <uct/api/uct.h>

BEGIN_C_DECLS

/** @file zcopy.h
 *
 * Sees which sends really go out without a copy. UCP chooses the protocol of a
 * send, and a transport may lack the operation, such as those within a node: so
 * the zero-copy operation of interfaces is replaced by one that says that it was
 * called.
 */

/** Called for each zero-copy active message that a transport has accepted, with
 *  the data that follows the header. */
typedef void (*uct_predreg_zcopy_func_t)(const uct_iov_t *iov, size_t iovcnt);

/** To be called before any interface is opened. */
void uct_predreg_zcopy_set_func(uct_predreg_zcopy_func_t func);

/**
 * Replace the operation of an interface that was opened, if it has it. Any
 * thread.
 */
void uct_predreg_zcopy_watch(uct_iface_h iface);

/** In a forked child, where there is no other thread. */
void uct_predreg_zcopy_reset(void);

END_C_DECLS

#endif
