/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_KNOB_H_
#define PREDREG_COMMON_KNOB_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file knob.h
 *
 * Reads settings of the library's knobs as people type them after --set, and
 * checks them against the library's own table, so that a mistake is found
 * before anything starts. The sub-commands run, record and replay call this.
 */

/** What the names of all knobs begin with in the environment. */
#define PREDREG_KNOB_PREFIX "UCX_RCACHE_PRED_"


/**
 * Take KNOB=VALUE apart. KNOB may be in letters of any case, and with the
 * prefix.
 *
 * @param [in]  example  A good setting, for the message.
 * @param [out] value_p  The value, a part of @a arg.
 * @return the name in capital letters, without the prefix, to be freed by the
 *         caller; or NULL if the argument has another form, and the reason has
 *         been printed.
 */
char *predreg_knob_split(const char *arg, const char *example,
                         const char **value_p);

/** @return the knob whose name is the most similar one, a string to be freed by
 *          the caller; NULL: none is similar. */
char *predreg_knob_nearest(const char *name);

/** Check that there is a knob of this name, and that it accepts this value.
 *  @return 0, or -1 if not, and the reason has been printed. */
int predreg_knob_check(const char *name, const char *value);

/** Check all knobs that the environment sets, and that all variables with their
 *  prefix are knobs.
 *  @return 0, or -1 if a name or a value is not accepted, and the reason has
 *  been printed. */
int predreg_knob_check_environment(void);

END_C_DECLS

#endif
