/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_LEAN_H_
#define UCT_PREDREG_LEAN_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** @file lean.h
 *
 * The settings of UCX that make its own pools smaller (UCX_RCACHE_PRED_POOLS).
 */

/** How many settings of a transport there are at most */
#define UCT_PREDREG_LEAN_MAX 3

typedef struct uct_predreg_lean {
    const char *name;  /**< Its name without the transport's, such as RX_QUEUE_LEN */
    const char *table; /**< The beginning of its name in a configuration, such as IB_ */
    unsigned   stock;  /**< UCX's default */
    unsigned   lean;
    int        is_of_receive; /**< Whether it is about receiving: if the user has set one
                                   of these settings, all stay as they are */
} uct_predreg_lean_t;

/**
 * Find the settings of a transport that lean changes. Pure.
 *
 * @param [in]  transport  Its name as UCX has it, such as rc_verbs.
 * @param [in]  ranks      Processes of the job on the node.
 * @return how many settings there are.
 */
unsigned uct_predreg_lean(const char *transport, unsigned ranks,
                          uct_predreg_lean_t settings[UCT_PREDREG_LEAN_MAX]);

extern const uct_predreg_addon_t uct_predreg_lean_addon;

END_C_DECLS

#endif
