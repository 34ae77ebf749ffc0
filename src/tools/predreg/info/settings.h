/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_SETTINGS_H_
#define PREDREG_INFO_SETTINGS_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file settings.h
 *
 * The environment variables that decide what UCX and the library do. text.c and
 * json.c call this. */

/** Call a function for each of them that is set: those of UCX, and of the
 *  dynamic loader. */
void predreg_settings_each(void (*func)(void *arg, const char *name,
                                        const char *value), void *arg);

END_C_DECLS

#endif
