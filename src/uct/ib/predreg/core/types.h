/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_TYPES_H_
#define UCT_PREDREG_TYPES_H_

/** @file types.h
 *
 * Names of structures, for headers of functions with such arguments.
 */

/** The state of the core, see state.h. */
typedef struct uct_predreg_core uct_predreg_core_t;

/** An add-on, see addon.h. */
typedef struct uct_predreg_addon uct_predreg_addon_t;

/** What a thread remembers of its small sends, see eager/sender.h. */
typedef struct uct_predreg_sender uct_predreg_sender_t;

/** A memory domain of the table, see md/domain.h. */
typedef struct uct_predreg_domain uct_predreg_domain_t;

/** The cache of a domain for memory that stays registered, see md/kept.c. */
typedef struct uct_predreg_kept uct_predreg_kept_t;

#endif
