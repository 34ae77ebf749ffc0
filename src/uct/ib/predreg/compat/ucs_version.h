/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_UCS_VERSION_H_
#define UCT_PREDREG_UCS_VERSION_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file ucs_version.h
 *
 * Which layouts the libucs of this process has. No function of it tells its
 * version, and a program may use it without UCP and UCT, so that its symbols
 * have to tell. Called by the other files of this folder that depend on UCS, by
 * the tools as well. Any thread may call it.
 */

/** The minor versions of UCX 1 that changed what this project uses of UCS. */
enum {
    UCT_PREDREG_UCS_OLDEST       = 13, /**< Nothing is older than this */
    UCT_PREDREG_UCS_CONFIG_ENTRY = 15, /**< The function that reads settings takes
                                            the entry of their table */
    UCT_PREDREG_UCS_CONFIG_DOC   = 17, /**< A type of settings has one function
                                            more */
    UCT_PREDREG_UCS_RCACHE_ALIGN = 17, /**< The alignment in a cache is an
                                            argument of the lookup */
    UCT_PREDREG_UCS_RCACHE_MERGE = 18  /**< The operations of a cache have one
                                            function more */
};

/** @return the latest of these versions that is not later than the libucs of
 *          this process. */
unsigned uct_predreg_ucs_minor(void);

END_C_DECLS

#endif
