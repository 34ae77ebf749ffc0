/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_COLUMNS_H_
#define UCT_PREDREG_COLUMNS_H_

#include "compat.h"

/** @file columns.h
 *
 * The columns of the table of facts about versions of UCX. Each is defined in
 * the file of its name. Only compat.c uses this header.
 */

extern const uct_predreg_compat_t uct_predreg_compat_1_13;
extern const uct_predreg_compat_t uct_predreg_compat_1_14;
extern const uct_predreg_compat_t uct_predreg_compat_1_15;
extern const uct_predreg_compat_t uct_predreg_compat_1_16;
extern const uct_predreg_compat_t uct_predreg_compat_1_18;
extern const uct_predreg_compat_t uct_predreg_compat_1_22;

#endif
