/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PROFILE_NAME_H_
#define UCS_RCACHE_PROFILE_NAME_H_

#include <trace/content/content.h>

BEGIN_C_DECLS

/** @file name.h
 *
 * A name for a place in the program that does not depend on where its modules are in
 * memory. Pure functions. Uses trace/content and ucs/base.
 */

/** @return the module that an address is in; NULL if it is in none. If several were there
 *          one after another, the last one. */
const ucs_rcache_trace_module_t *
ucs_rcache_profile_find_module(const ucs_rcache_trace_module_t *modules,
                               unsigned num_modules, uint64_t address);

/**
 * @return a number for a call site: of the kind of communication and, for each return
 *         address, of the module that it is in and where in its file. A module is told by
 *         its build ID, so that a program which was built anew has other places; if it
 *         has none, by the last part of its path. Addresses outside of all modules are all
 *         alike.
 */
uint64_t
ucs_rcache_profile_name(const ucs_rcache_trace_site_t *site,
                        const ucs_rcache_trace_module_t *modules,
                        unsigned num_modules);

END_C_DECLS

#endif
