/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOB_VALUES_H_
#define UCT_PREDREG_KNOB_VALUES_H_

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/compiler_def.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file knob_values.h
 *
 * What is accepted as the value of a knob, and the numbers that texts stand
 * for. UCX's own functions that read numbers are not enough: they take what
 * comes before the first character that is no digit, a sign, and numbers that
 * do not fit, which become others. knobs.c calls this. The functions are pure.
 */

/** The values that are accepted for a knob. */
typedef struct uct_predreg_knob_values {
    const char        *name;         /**< Name of the knob, without its
                                          prefix */
    size_t            offset;        /**< Of its field in
                                          uct_predreg_knobs_t */
    size_t            size;          /**< Of the field, bytes */
    const char *const *names;        /**< The values, up to a NULL; if this is
                                          NULL, they are numbers, of which the
                                          rest tells */
    unsigned long     min;
    unsigned long     max;           /**< ULONG_MAX: none, and "inf" is
                                          accepted */
    int               is_bytes;      /**< Whether a unit may follow */
    int               is_zero_ok;    /**< Whether 0 is accepted below min: none;
                                          of bytes with a max */
    int               is_power_of_2; /**< Whether other numbers are refused */
    int               is_percent;    /**< Whether decimals may follow, and "inf"
                                          is accepted; the field is a double */
    int               is_finite;     /**< Whether "inf" is no percentage */
} uct_predreg_knob_values_t;


/**
 * Read a number: as ucs_number_parse() does, except that "inf" may stand for no bound, which is ULONG_MAX.
 *
 * @return whether the text is a value that is accepted.
 */
int uct_predreg_knob_parse(const uct_predreg_knob_values_t *values,
                           const char *text, unsigned long *value_p);

/**
 * Read a percentage: decimal digits, with a point and more digits if need be
 * whatever the locale; "inf" is INFINITY, where it is accepted.
 *
 * @return whether the text is a value that is accepted.
 */
int uct_predreg_knob_parse_percent(const uct_predreg_knob_values_t *values,
                                   const char *text, double *value_p);

/** Print a percentage such that @ref uct_predreg_knob_parse_percent reads it;
 *  decimals after the sixth are left out. */
void uct_predreg_knob_print_percent(double value, char *buf, size_t max);

/** Append which values are accepted, in words that may follow "accepted: ". */
void uct_predreg_knob_accepted(const uct_predreg_knob_values_t *values,
                               ucs_string_buffer_t *strb);

END_C_DECLS

#endif
