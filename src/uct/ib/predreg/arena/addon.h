/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_ADDON_H_
#define UCT_PREDREG_ARENA_ADDON_H_

#include <uct/ib/predreg/core/addon.h>

/** @file uct/ib/predreg/arena/addon.h
 *
 * The arena of the process and the managed domains: the first domain makes the arena, all
 * domains register the slabs of the arena, and the arena answers uses of its memory. If
 * the arena cannot be made, the add-on logs a warning once, and each use registers its
 * memory.
 */

extern const uct_predreg_addon_t uct_predreg_arena_addon;

#endif
