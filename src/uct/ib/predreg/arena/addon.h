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
 * domains register its slabs, and the arena answers uses of its memory. If it cannot be made, a
 * warning is logged once, and such uses register for themselves.
 */

extern const uct_predreg_addon_t uct_predreg_arena_addon;

#endif
