/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_COMMAND_H_
#define PREDREG_COMMON_COMMAND_H_

#include <tools/base/fields.h>
#include <tools/base/memory.h>

#include <ucs/sys/compiler_def.h>

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

BEGIN_C_DECLS

/** @file command.h
 *
 * The sub-commands of ucx_predreg, and the parts of a command line that all of them
 * have: messages on standard error, exit statuses, options, and numbers in options. The
 * program has one thread; no function here is thread safe.
 */

/** Exit statuses of this program. `run` and `record` end with the exit status of their
 *  command, unless the command cannot be started. Shells use the last two statuses in the
 *  same way. */
enum {
    PREDREG_EXIT_USAGE      = 2,   /**< Bad arguments; nothing was started */
    PREDREG_EXIT_CANNOT_RUN = 126, /**< Found, but could not be run */
    PREDREG_EXIT_NOT_FOUND  = 127  /**< The command or the library is missing */
};


/**
 * The sub-commands, for the table in main.c. run and record do not return if all goes
 * well: this program becomes the command.
 *
 * @param [in] argv  A name for messages of getopt_long(), then the arguments.
 * @return the exit status of the program.
 */
int predreg_run(int argc, char **argv);
int predreg_record(int argc, char **argv);
int predreg_dump(int argc, char **argv);
int predreg_stat(int argc, char **argv);
int predreg_replay_command(int argc, char **argv);
int predreg_report(int argc, char **argv);
int predreg_info(int argc, char **argv);
int predreg_calibrate(int argc, char **argv);
int predreg_explain(int argc, char **argv);
int predreg_knobs(int argc, char **argv);


/** Print the program's name and an error on standard error.
 *  @return PREDREG_EXIT_USAGE, which a caller may return if it refuses an argument. */
int predreg_error(const char *format, ...)
        __attribute__((format(printf, 1, 2)));

void predreg_verror(const char *format, va_list args);

/** Append further errors to a string, a line for each, instead of printing them. The
 *  caller frees the string.
 *  @param [out] text_p  The string; if @a text_p is NULL, errors are printed again. */
void predreg_errors_collect(char **text_p);

/**
 * Begin a trace, of many that take long. On a terminal, one line of standard error, which is
 * written over, shows how far the work is. Work that ends within half a second shows nothing.
 *
 * @param [in] done  Number of traces before it; @a all ends the work.
 */
void predreg_progress(size_t done, size_t all);

/** Begin a part of the work on a trace, after its reading. */
void predreg_progress_part(const char *part);

/** Go through the words of a text, which is changed. */
#define predreg_for_each_word(_word, _text, _separators) \
    for (char *_rest, *_word = strtok_r(_text, _separators, &_rest); \
         _word != NULL; _word = strtok_r(NULL, _separators, &_rest))

/** Set a variable of the environment, also if it has a value already. */
void predreg_set_variable(const char *name, const char *value);


/** Read a whole number from 1 to @a max. @return the number, or 0 if @a text is no such
 *  number. */
long predreg_number(const char *text, long max);

/** Read a positive number with a unit, as knobs have: 64m, 64MiB.
 *  @return the number, or 0 if @a text is no such number, or has more than 64 bits. */
uint64_t predreg_bytes(const char *text);


/** Begin the only JSON object of the program. The object before must have been printed.
 *  @param [in] type  One of docs/json.md.
 *  @return the writer of the object. */
ucs_json_t *predreg_json_begin(const char *type);

/** Write a number as a member of a JSON object, or null if the number is not known.
 *  @param [in] digits  Number of digits after the point. */
void predreg_json_known(ucs_json_t *json, const char *name, int is_known, double value,
                        int digits);

/** End the JSON object, and print it on a line of standard output. */
void predreg_json_print(ucs_json_t *json);


/** An option. A table of options ends with a name of NULL. */
typedef struct predreg_option {
    const char *name;   /**< Stands behind two dashes */
    char       letter;  /**< The short form, behind one dash; 0: the option has no
                             short form */
    const char *value;  /**< Name of the value in the help; NULL: the option has none;
                             in brackets: the value may be missing, and follows "=" */
    const char *help;   /**< What the option does; print_help() breaks the text into
                             lines. NULL: the help does not have the option */

    /** Take the option. @a value is NULL if the user has given no value.
     *  @return 0, or PREDREG_EXIT_USAGE, and the reason has been printed. */
    int        (*read)(const struct predreg_option *option, const char *value,
                       void *opts);

    size_t     offset;  /**< Offset, in the structure of options, of the field that
                             predreg_option_flag() or predreg_option_string() sets */
} predreg_option_t;

/** Set an int to 1. */
int predreg_option_flag(const predreg_option_t *option, const char *value, void *opts);

/** Set a const char* to the value. */
int predreg_option_string(const predreg_option_t *option, const char *value, void *opts);


/** The options of a sub-command, and its help. */
typedef struct predreg_options {
    const char             *command; /**< Name of the sub-command */
    const char             *usage;   /**< Arguments, behind the name of the sub-command */
    const char             *intro;   /**< What the sub-command does, in lines */
    const char             *end;     /**< Lines after the options; NULL: none */
    const predreg_option_t *list;
    int                    runs;     /**< Whether the rest is a command, so that the
                                          first argument without a dash ends the
                                          options */
    const char             *only_input; /**< What is accepted where exactly one argument is no
                                             option; NULL: any number of them is */
    void                   (*unknown)(const char *arg); /**< Gets each unknown option;
                                                             may be NULL */
} predreg_options_t;

/**
 * Read the options. If help is asked for, print it and end the program.
 *
 * @param [out] opts  Handed to the functions of the options.
 * @return 0, and optind is the index of the first argument that is no option; or the exit
 *         status, and the reason has been printed.
 */
int predreg_options_read(const predreg_options_t *options, int argc, char **argv,
                         void *opts);

END_C_DECLS

#endif
