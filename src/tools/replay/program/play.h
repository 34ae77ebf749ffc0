/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PLAY_H_
#define PREDREG_PLAY_H_

#include "timeline.h"

BEGIN_C_DECLS

/** @file play.h
 *
 * Plays a policy over a timeline. The program is treated as one flow of time:
 * if a use waits under the policy, everything after it happens that much later.
 * Each policy that decides as time goes on calls this.
 */

/** The functions of a policy that is played. Their times are those of the
 *  program under the policy. The first two return how long the program waits in
 *  them. */
typedef struct predreg_player {
    void     *arg;
    uint64_t (*begin)(void *arg, const predreg_use_t *use, uint64_t now);
    uint64_t (*end)(void *arg, const predreg_use_t *use, uint64_t now);
    void     (*unmap)(void *arg, const predreg_unmap_t *unmap, uint64_t now);
    void     (*map)(void *arg, const predreg_map_t *map,
                    uint64_t now); /**< NULL: the policy need not know */
} predreg_player_t;

/**
 * Play a whole timeline. Of events at the same time, ends of uses come first,
 * then unmaps, then maps, then begins of uses.
 *
 * @param [out] duration_p  Duration of the timeline, plus all that the program
 *                          waited.
 * @return UCS_ERR_NO_MEMORY.
 */
ucs_status_t predreg_timeline_play(const predreg_timeline_t *timeline,
                                   const predreg_player_t *player,
                                   uint64_t *duration_p);

END_C_DECLS

#endif
