/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TABLES_WAYS_H_
#define TABLES_WAYS_H_

#include <stdio.h>

/** @file ways.h
 *
 * Each way in which the library helps, beside stock UCX: what contrib/lib/systems.sh
 * wrote to a file. */

typedef struct ways ways_t;

/** Read the file "systems" of a folder. Ends the program if that cannot be read. */
ways_t *ways_load(const char *dir);

/** Free what @ref ways_load has returned. */
void ways_free(ways_t *ways);

/** A table in markdown: medians of all runs. */
void ways_table(const ways_t *ways, FILE *out);

/** The same as a picture (SVG): a pair of bars for each measure.
 *  @param [in] subtitle  Text, not markup: where and when this was measured. */
void ways_picture(const ways_t *ways, const char *subtitle, FILE *out);

#endif
