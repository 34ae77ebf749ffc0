/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRADEOFF_H_
#define PREDREG_TRADEOFF_H_

#include <stdint.h>
#include <stdio.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file tradeoff.h
 *
 * Draws registered memory against run time: settings as points, and those that
 * differ in one number only as a line. Labels are in a column to the right, so
 * that they never cover each other; points that lie together have one label. A
 * point that is beyond the right edge is drawn there, and its label says how
 * much longer the program takes. page/budgets.c calls this; report.css has the
 * styles.
 */

/** The most points with a label. */
#define PREDREG_TRADEOFF_MAX_LABELS 16

/** A setting. */
typedef struct predreg_mark {
    const char *label;   /**< NULL: a small dot without a label */
    double     memory;   /**< Registered on average, bytes */
    double     peak;     /**< Registered at most, bytes */
    double     extra;    /**< By what part of the run time it takes longer; less
                              than 0: it takes less */
    int        on_line;  /**< Whether it is a point of the line. Those come
                              first, in the order of the line */
    int        chosen;   /**< Whether this is the one to use */
} predreg_mark_t;


/**
 * Write the drawing, an <svg> element of its own.
 *
 * @param [in] label  What screen readers say of it.
 * @param [in] marks  At most PREDREG_TRADEOFF_MAX_LABELS of them have a label.
 * @param [in] limit  Part of the run time at which a vertical line is drawn.
 */
void predreg_tradeoff_write(FILE *out, const char *label,
                            const predreg_mark_t *marks, unsigned num_marks,
                            double limit);

END_C_DECLS

#endif
