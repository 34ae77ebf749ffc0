/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COMPONENTS_H_
#define UCT_PREDREG_COMPONENTS_H_

#include <uct/ib/predreg/core/knobs.h>
#include <uct/ib/predreg/core/types.h>

#include <ucs/datastruct/string_buffer.h>

BEGIN_C_DECLS

/** @file components.h
 *
 * Which components of UCT have their memory domains managed
 * (UCX_RCACHE_PRED_COMPONENTS). Any thread may call these functions.
 */

/** @return whether UCX finds memory domains here of any component whose domains
 *          are managed. This loads UCX's components, as the opening of a context
 *          does. */
int uct_predreg_components_are_here(const uct_predreg_core_t *core);

/** Write down what has domains that are managed, in words that may follow "none
 *  of". */
void uct_predreg_components_tell(const uct_predreg_knobs_t *knobs,
                                 ucs_string_buffer_t *strb);

/** Say of each chosen name that UCX has no component of that name, if the log
 *  level is info or higher. UCX loads its components before it reads a
 *  configuration of one of them, so not before that. */
void uct_predreg_components_check(const uct_predreg_core_t *core);

END_C_DECLS

#endif
