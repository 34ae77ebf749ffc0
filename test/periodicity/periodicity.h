/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_PERIODICITY_H_
#define TEST_PERIODICITY_H_

#include <tools/replay/replay.h>

BEGIN_C_DECLS

/** @file periodicity.h
 *
 * The periodicity-based predictor that the paper compares its own one with
 * (section 3.1 and Figure 5), played over a recorded program.
 */

/**
 * Play a program.
 *
 * @param [in]  params    Of these only the costs count.
 * @param [in]  compared  How many uses are compared with those one period before:
 *                        PREDREG_PATTERN_MIN_COMPARED to MAX_COMPARED, or else the
 *                        behaviour is undefined. Periods are shorter.
 * @param [out] result    The caller has to clean it up if this returns UCS_OK.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t periodicity_replay(const predreg_timeline_t *timeline,
                                const predreg_replay_params_t *params,
                                unsigned compared,
                                predreg_replay_result_t *result);

END_C_DECLS

#endif
