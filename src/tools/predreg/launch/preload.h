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
 * Makes values of LD_PRELOAD. No function here reads the environment. The
 * caller frees the strings that they return.
 */

/** Name of the environment variable. */
#define PREDREG_PRELOAD "LD_PRELOAD"

/** Base name of the library that is preloaded. */
#define PREDREG_LIBRARY "libuct_predreg.so"


/**
 * Make a value of LD_PRELOAD: the library, then all that was preloaded before,
 * except other files that have the name of the library. Libraries of sanitizers
 * stay in front of it: they end a program in which they are not the first.
 *
 * @param [in] present  Present value; may be NULL.
 */
char *predreg_preload_join(const char *library, const char *present);


/** @return 1 if a value of LD_PRELOAD names our library in any folder. */
int predreg_preload_has_library(const char *present);


/**
 * Put our library in front of the value of LD_PRELOAD that a user gave to a
 * launcher.
 *
 * @param [in] our_value   The value without the user's: our library, then the
 *                         libraries of the environment, which the user's value
 *                         replaces; libraries of sanitizers are before it.
 * @param [in] user_value  What the user gave.
 */
char *predreg_preload_merge(const char *our_value, const char *user_value);

END_C_DECLS

#endif
