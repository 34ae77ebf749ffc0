/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_KNOB_TYPES_H_
#define UCT_PREDREG_KNOB_TYPES_H_

#include <uct/ib/predreg/compat/config_table.h>

#include <ucs/datastruct/string_buffer.h>

BEGIN_C_DECLS

/** @file knob_types.h
 *
 * What a knob is, and the types of knobs: how values are read, printed, copied and
 * freed, for knobs.c, and for UCX, which knobs.c hands its table to. UCX's own
 * functions that read numbers are not enough: they take what comes before the first
 * character that is no digit, a sign, and numbers that do not fit, which become
 * others. A value that is not accepted is logged, and noted in the knobs that it was
 * to get into; the caller is told that it was read, since UCX's own message would not
 * have the whole name of the variable.
 */

/** What the names of the variables begin with: both, one after the other. */
#define UCT_PREDREG_ENV_PREFIX  "UCX_"
#define UCT_PREDREG_KNOB_PREFIX "RCACHE_PRED_"


/** A knob, and the values that are accepted for it. */
typedef struct uct_predreg_knob {
    uct_predreg_config_field_t field; /**< First, as UCX gets it. Its help is lines of
                                           text, and lines that begin with one space
                                           and "VALUE - " for what a value means */
    size_t            size;          /**< Of its field in uct_predreg_knobs_t,
                                          bytes */
    const char *const *names;        /**< The values, up to a NULL; if this is
                                          NULL, they are numbers, of which the
                                          rest tells, or any text */
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
} uct_predreg_knob_t;


/** Numbers: unsigned, unsigned long and size_t. They are read as ucs_number_parse()
 *  does, and "inf" may stand for no bound, which is ULONG_MAX. */
extern const uct_predreg_config_type_t uct_predreg_knob_number;

/** Percentages: double. Decimal digits, with a point and up to six more whatever the
 *  locale; "inf" is INFINITY, where it is accepted. */
extern const uct_predreg_config_type_t uct_predreg_knob_percent;

/** Values that have names: unsigned, the place of the name in the list. */
extern const uct_predreg_config_type_t uct_predreg_knob_name;

/** Yes or no: int. */
extern const uct_predreg_config_type_t uct_predreg_knob_bool;

/** Any text: char*. */
extern const uct_predreg_config_type_t uct_predreg_knob_string;

/** Texts separated by commas: ucs_config_names_array_t. */
extern const uct_predreg_config_type_t uct_predreg_knob_list;


/** Append which values are accepted, in words that may follow "accepted: ".
 *  @param [in] knob  No string and no list. */
void uct_predreg_knob_accepted(const uct_predreg_knob_t *knob,
                               ucs_string_buffer_t *strb);

END_C_DECLS

#endif
