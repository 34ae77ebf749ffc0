/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_REPLAY_KNOB_OPT_H_
#define PREDREG_REPLAY_KNOB_OPT_H_

#include <uct/ib/predreg/core/knobs.h>

BEGIN_C_DECLS

/** @file knob_opt.h
 *
 * Reads the option --set of `ucx_predreg replay`, which sets knobs of the
 * library. opts.c calls this.
 */

/** Set a knob.
 *  @param [in] arg  KNOB=VALUE, with or without the prefix of all knobs.
 *  @return 0, or -1 if the argument is wrong, and the reason has been
 *  printed. */
int predreg_knob_opt_parse(const char *arg, uct_predreg_knobs_t *knobs);

/** @return the knobs that are accepted, as in "HELPER, HISTORY". The caller may
 *  free the string, or leave it to the end of the program. */
char *predreg_knob_opt_accepted(void);

END_C_DECLS

#endif
