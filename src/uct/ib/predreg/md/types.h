/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_MD_TYPES_H_
#define UCT_PREDREG_MD_TYPES_H_

/** @file types.h
 *
 * The name of a memory domain of the core, for headers whose functions get it
 * as an argument. What is in it says domain.h, which only C can read.
 */

typedef struct uct_predreg_domain uct_predreg_domain_t;

/** The memory of a domain that stays registered, see kept.h. */
typedef struct uct_predreg_kept uct_predreg_kept_t;

#endif
