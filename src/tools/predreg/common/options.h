/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_OPTIONS_H_
#define PREDREG_COMMON_OPTIONS_H_

#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file options.h
 *
 * Reads the options of a sub-command by a table, which is its help as well. Every
 * sub-command may call this; it calls message.h.
 */

/** An option. A table of them ends with one whose name is NULL. */
typedef struct predreg_option {
    const char *name;   /**< With two dashes in front of it */
    char       letter;  /**< With one dash; 0: there is none */
    const char *value;  /**< What its value is called in the help; NULL: it has none;
                             in brackets: it may be missing, and follows "=" */
    const char *help;   /**< What it does; is broken into lines */

    /** Take the option. @a value is NULL if there is none.
     *  @return 0, or -1, and the reason has been printed. */
    int        (*read)(const struct predreg_option *option, const char *value,
                       void *opts);

    size_t     offset;  /**< For the two functions below: where the field is */
} predreg_option_t;

/** Set an int to 1. */
int predreg_option_flag(const predreg_option_t *option, const char *value, void *opts);

/** Set a const char* to the value. */
int predreg_option_string(const predreg_option_t *option, const char *value, void *opts);


/** The options of a sub-command, with what its help has besides. */
typedef struct predreg_options {
    const char             *command; /**< Name of the sub-command */
    const char             *usage;   /**< What stands behind the name */
    const char             *intro;   /**< What it does; lines */
    const char             *end;     /**< After the options; lines; NULL: nothing */
    const predreg_option_t *list;
    int                    runs;     /**< Whether the first argument that is no option
                                          ends the options */
    void                   (*unknown)(const char *arg); /**< Told of an option that there
                                                             is not; NULL */
} predreg_options_t;

/**
 * Read the options. If help is asked for, print it and end the program.
 *
 * @param [out] opts  What the functions of the options get.
 * @return 0, and optind is the index of the first other argument; or the exit status,
 *         and the reason has been printed.
 */
int predreg_options_read(const predreg_options_t *options, int argc, char **argv,
                         void *opts);

END_C_DECLS

#endif
