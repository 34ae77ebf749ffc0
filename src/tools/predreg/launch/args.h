/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_LAUNCH_ARGS_H_
#define PREDREG_LAUNCH_ARGS_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file args.h
 *
 * Builds the arguments that a launcher is started with. The files of the
 * launchers (openmpi.c, hydra.c, slurm.c) and launcher.c use this.
 */

/** A vector of arguments that is being built. */
typedef struct predreg_args {
    char *const *vars;    /**< Variables to be set, "NAME=VALUE" up to a NULL */
    const char  *preload; /**< The one of them that sets LD_PRELOAD, or NULL */
    char        **out;    /**< The result, up to a NULL */
    size_t      count;    /**< Elements of the result */
} predreg_args_t;


/**
 * Make room for the arguments @a argv and for setting all of @a vars as often
 * as any launcher may need it.
 *
 * @return 0, or -1 if there is no memory.
 */
int predreg_args_init(predreg_args_t *args, char *const *argv,
                      char *const *vars);


/** Append an argument, which has to live as long as the result. */
void predreg_args_add(predreg_args_t *args, const char *arg);


/** @return 1 if two strings, "NAME" or "NAME=VALUE", name the same variable. */
int predreg_var_is(const char *var, const char *other);


/** @return the value in "NAME=VALUE", or NULL if there is none. */
const char *predreg_var_value(const char *var);


/** @return the element of @a vars, up to a NULL, that sets LD_PRELOAD, or NULL
 *  if none does. */
const char *predreg_vars_preload(char *const *vars);


/**
 * Recognize an option of a launcher, which may begin with one dash or with two.
 *
 * @return what follows "=" in @a arg; nothing ("") if the value is the next
 *         argument; NULL if it is not the option of that name.
 */
const char *predreg_args_option(const char *arg, const char *name);


/**
 * Add our library to those that the user sets LD_PRELOAD to.
 *
 * @param [in] arg    The argument that ends with the user's value.
 * @param [in] value  Where the value is in it.
 *
 * @return the argument with both, or NULL if there is no memory.
 */
char *predreg_args_merge(const predreg_args_t *args, const char *arg,
                         const char *value);

END_C_DECLS

#endif
