/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TYPES_H_
#define UCT_PREDREG_TYPES_H_

/** @file types.h
 *
 * The name of the state of the core, for headers whose functions get it as an
 * argument. What is in it says state.h, which only C can read.
 */

typedef struct uct_predreg_core uct_predreg_core_t;

/** What a thread remembers of its small sends, see sender.h. */
typedef struct uct_predreg_sender uct_predreg_sender_t;

#endif
