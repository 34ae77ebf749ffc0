/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_RUN_FIND_H_
#define PREDREG_RUN_FIND_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file find.h
 *
 * Finds the library that is preloaded into programs, and the command to run. run.c and the
 * sub-commands info and calibrate call this.
 */

/** @return the folder that this program is in, to be freed by the caller, or
 *  NULL. */
char *predreg_executable_folder(void);


/**
 * Find where another folder of the installation is. What is found so is also
 * found if the whole installation was moved.
 *
 * @param [in] folder  Folder that this program is in.
 * @param [in] other   Where the other folder is if the folder of programs is
 *                     where the program was configured for.
 *
 * @return the path of the other folder, to be freed.
 */
char *predreg_relative_folder(const char *folder, const char *other);


/**
 * Find the library to preload.
 *
 * @param [in]  folder    Folder that this program is in, or NULL.
 * @param [in]  wanted    Path given by the user, or NULL to look for the
 *                        library: if @a folder is part of a build tree, in that
 *                        tree; then in the folder of libraries of the
 *                        installation that @a folder is part of; then in the
 *                        one that the program was configured for.
 * @param [out] status_p  Exit status if there is none; then the reason has been
 *                        printed.
 *
 * @return an absolute path to be freed, or NULL.
 */
char *predreg_find_library(const char *folder, const char *wanted,
                           int *status_p);


/** @return the file that execvp() would execute under this name, which is looked
 *  for in PATH if there is no slash in it; to be freed. NULL: there is none. */
char *predreg_find_command(const char *name);

/** @return 1 if predreg_find_command() finds one. */
int predreg_has_command(const char *name);

END_C_DECLS

#endif
