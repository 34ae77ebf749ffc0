/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * The command lines of the programs here. A program lists its options, and
 * where their values go:
 *
 *     const app_option_t options[] = {
 *         {"size", .size = &opts->size},
 *         {"json", .flag = &opts->json},
 *         {NULL}
 *     };
 *
 *     app_parse(argc, argv, "fig1", options, fig1_usage);
 */

#ifndef TEST_APPS_OPTIONS_H_
#define TEST_APPS_OPTIONS_H_

#include <stddef.h>
#include <stdint.h>

/* An option: its name without "--", and one of the others. What is not on the
 * command line is left as it is. */
typedef struct {
    const char *name;
    int        *flag;      /* takes no value: set to 1 */
    int        *count;     /* takes a number from 0 to INT_MAX */
    size_t     *size;      /* takes a number, as app_number() */
    uint64_t   *number;    /* likewise */
    void       (*function)(const char *value); /* called with the value */
} app_option_t;


/* Parses all arguments; options ends with a NULL name. --help prints the usage
 * and ends with status 0; anything else that is not in the list, and a bad
 * value, is told and ends with status 2. */
void app_parse(int argc, char **argv, const char *program,
               const app_option_t *options, void (*usage)(void));

/* The number that an option was given, with an optional k, m or g (powers of
 * 1024). Ends the program if it is none. */
uint64_t app_number(const char *option, const char *value);

#endif
