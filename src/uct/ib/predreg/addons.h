/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ADDONS_H_
#define UCT_PREDREG_ADDONS_H_

#include <ucs/sys/compiler_def.h>
#include <uct/ib/predreg/core/types.h>

BEGIN_C_DECLS

/** The add-ons, in the order of their calls by the core; NULL at the end. An add-on whose
 *  hooks call the hooks of other add-ons comes after the others. */
extern const uct_predreg_addon_t *const uct_predreg_addons[];

END_C_DECLS

#endif
