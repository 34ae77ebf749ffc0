/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_PRELOAD_H_
#define PREDREG_LAUNCH_PRELOAD_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file preload.h
 *
 * Values of LD_PRELOAD. Pure: nothing here reads the environment. Strings that
 * are returned are the caller's to free; NULL means that there was no memory.
 */

/** The variable of the environment. */
#define PREDREG_PRELOAD "LD_PRELOAD"

/** Base name of the library that is preloaded. */
#define PREDREG_LIBRARY "libuct_predreg.so"


/**
 * A value for LD_PRELOAD: the library, then whatever was preloaded before,
 * except other files of the same name as the library.
 *
 * @param [in] present  Present value; may be NULL.
 */
char *predreg_preload_join(const char *library, const char *present);


/** @return 1 if a value of LD_PRELOAD names our library in any folder. */
int predreg_preload_has_library(const char *present);


/**
 * The value of LD_PRELOAD that a user gave to a launcher, with our library in
 * front of it.
 *
 * @param [in] our_value   What we would set: our library, then what was in the
 *                         environment, which the user's value replaces.
 * @param [in] user_value  What the user gave.
 * @param [in] prefix      Put before the new value.
 */
char *predreg_preload_merge(const char *our_value, const char *user_value,
                            const char *prefix);

END_C_DECLS

#endif
