/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_TARGET_H_
#define PREDREG_INFO_TARGET_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file target.h
 *
 * What kind of program a command is, and which UCX it would load. The command
 * itself is never run. info.c calls this.
 */

/** How a command comes to its UCX. */
typedef enum {
    PREDREG_TARGET_NONE,     /**< No command was given */
    PREDREG_TARGET_LAUNCHER, /**< A launcher, such as mpirun: what its ranks
                                  load is not known */
    PREDREG_TARGET_LINKED,   /**< A program that is linked with UCX, or with
                                  something that is */
    PREDREG_TARGET_PLUGIN,   /**< A program that may load UCX when it runs */
    PREDREG_TARGET_SCRIPT,   /**< No program, but something that one reads */
    PREDREG_TARGET_STATIC    /**< A program without a dynamic loader */
} predreg_target_kind_t;

/** UCM, UCS, UCT, UCP */
#define PREDREG_TARGET_MAX 4

typedef struct {
    predreg_target_kind_t kind;
    char *path;          /**< The command's file; NULL: no command */
    int  is_privileged;  /**< Whether it gets rights that its user lacks */
    char *missing;       /**< A library that it is linked with and that is not
                              found, if that is one of UCX; else NULL */
    char *libraries[PREDREG_TARGET_MAX + 1]; /**< What to load, in this order,
                                                  to have its UCX, to a NULL */
} predreg_target_t;


/**
 * Look at a command.
 *
 * @param [in]  name    As execvp() takes it; NULL: there is none.
 * @param [out] target  To be cleaned up by the caller.
 * @return 0, or -1 if there is no such command.
 */
int predreg_target_find(const char *name, predreg_target_t *target);

/**
 * Read what the dynamic loader lists for a program (ld.so --list), and take the
 * libraries of UCX from it. Pure.
 *
 * @param [in] list  One library a line; it is changed.
 */
void predreg_target_read_list(char *list, predreg_target_t *target);

void predreg_target_cleanup(predreg_target_t *target);

END_C_DECLS

#endif
