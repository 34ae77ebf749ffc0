/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_KNOB_H_
#define PREDREG_COMMON_KNOB_H_

#include <uct/ib/predreg/core/knobs.h>

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file knob.h
 *
 * Reads settings of the library's knobs as people type them after --set, and checks
 * names and values against the library's own table before anything starts. The
 * sub-commands run, record, info, replay and report call these functions.
 */

/** Beginning of the names of all knobs in the environment. */
#define PREDREG_KNOB_PREFIX  "UCX_RCACHE_PRED_"

#define PREDREG_KNOB_POLICY  PREDREG_KNOB_PREFIX "POLICY"
#define PREDREG_KNOB_SUMMARY PREDREG_KNOB_PREFIX "SUMMARY"
#define PREDREG_KNOB_OUTPUT  PREDREG_KNOB_PREFIX "SUMMARY_FILE"
#define PREDREG_KNOB_EAGER   PREDREG_KNOB_PREFIX "EAGER"
#define PREDREG_KNOB_TRACE   PREDREG_KNOB_PREFIX "TRACE"


/**
 * Take KNOB=VALUE apart. KNOB may be in letters of any case, and with the
 * prefix.
 *
 * @param [out] value_p  The value, a part of @a arg.
 * @return the name in capital letters, without the prefix, to be freed by the
 *         caller; or NULL if the argument has another form, and the reason has
 *         been printed.
 */
char *predreg_knob_split(const char *arg, const char **value_p);

/** Set the variable of a knob in the environment.
 *  @param [in] arg         KNOB=VALUE, as above.
 *  @param [in] is_checked  Whether the knob has to exist, and to accept the value.
 *  @return 0 or the exit status; the reason has been printed. */
int predreg_knob_set_variable(const char *arg, int is_checked);

/** @return the values of a knob whose values have names, up to a NULL. */
const char *const *predreg_knob_values(const char *name);

/** @return the one of two known names that is more similar to a name.
 *  @param [in] nearest  NULL: there is one known name only, or the other one is not
 *                       similar; then it may be that none is, and NULL is returned. */
const char *predreg_nearer(const char *name, const char *known, const char *nearest);

/** @return the name of the most similar knob; NULL: none is similar. */
const char *predreg_knob_nearest(const char *name);

/** Check the values of all knobs in the environment, and that each variable with the
 *  prefix is a knob.
 *  @return 0 or the exit status; the reason has been printed. */
int predreg_knob_check_environment(void);

/** @return a list of the knobs on which a replay depends, to be freed. */
char *predreg_knob_list_replayed(void);

/** Set a knob for a replay.
 *  @param [in] arg  KNOB=VALUE, as above.
 *  @return 0 or the exit status; the reason has been printed. */
int predreg_knob_replay(const char *arg, uct_predreg_knobs_t *knobs);

END_C_DECLS

#endif
