/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "timeline.h"

#include <tools/base/containers.h>

#include <ucs/sys/math.h>

#include <stdlib.h>

/*
 * Playing a timeline merges four sorted sequences: begins of uses, ends of
 * uses, unmaps and maps.
 */


typedef struct end {
    uint64_t time;
    size_t   use;
} end_t;

typedef struct play {
    const predreg_timeline_t *timeline;
    const predreg_player_t   *player;
    end_t                    *ends;     /* Sorted by time, then by use */
    size_t                   num_ends;
    size_t                   next_use;
    size_t                   next_end;
    size_t                   next_unmap;
    size_t                   next_map;
    uint64_t                 waited;    /* Sum of all waits so far, ns: events of the
                                           timeline happen later by this time */
} play_t;


PREDREG_COMPARE(end_compare, end_t, time, use)

/* Make the sorted list of the ends of uses. A use without duration is left out, since it
 * ends right after its begin. */
static void sort_ends(play_t *play)
{
    const predreg_timeline_t *timeline = play->timeline;
    size_t i;

    play->ends = predreg_alloc(timeline->num_uses, sizeof(*play->ends));
    for (i = 0; i < timeline->num_uses; ++i) {
        if (timeline->uses[i].end > timeline->uses[i].begin) {
            play->ends[play->num_ends++] = (end_t){ timeline->uses[i].end, i };
        }
    }
    qsort(play->ends, play->num_ends, sizeof(*play->ends), end_compare);
}

static void add_wait(play_t *play, uint64_t wait)
{
    play->waited += wait + (uint64_t)(wait * play->timeline->partners);
}

static void play_end(play_t *play, const predreg_use_t *use)
{
    add_wait(play, play->player->end(play->player->arg, use, use->end + play->waited));
}

static void play_begin(play_t *play, const predreg_use_t *use)
{
    uint64_t wait = play->player->begin(play->player->arg, use, use->begin + play->waited);

    add_wait(play, wait + (play->player->counts_fresh ? 0 : use->fresh));
    if (use->end == use->begin) {
        play_end(play, use);
    }
}

/* Play the next event of the timeline. @return 0 if there is none. */
static int play_next(play_t *play)
{
    const predreg_timeline_t *timeline = play->timeline;
    const predreg_player_t *player     = play->player;
    const predreg_use_t *use           = timeline->uses + play->next_use;
    const predreg_unmap_t *unmap       = timeline->unmaps + play->next_unmap;
    const predreg_map_t *map           = timeline->maps + play->next_map;
    const end_t *end                   = play->ends + play->next_end;
    uint64_t use_time, unmap_time, map_time, end_time, first;

    use_time   = (play->next_use < timeline->num_uses) ? use->begin :
                                                         UINT64_MAX;
    unmap_time = (play->next_unmap < timeline->num_unmaps) ? unmap->time :
                                                             UINT64_MAX;
    map_time   = (play->next_map < timeline->num_maps) ? map->time : UINT64_MAX;
    end_time   = (play->next_end < play->num_ends) ? end->time : UINT64_MAX;
    first      = ucs_min(ucs_min(use_time, unmap_time),
                         ucs_min(map_time, end_time));

    if (first == UINT64_MAX) {
        return 0;
    }

    if (end_time == first) {
        ++play->next_end;
        play_end(play, timeline->uses + end->use);
    } else if (unmap_time == first) {
        ++play->next_unmap;
        player->unmap(player->arg, unmap, unmap->time + play->waited);
    } else if (map_time == first) {
        ++play->next_map;
        if (player->map != NULL) {
            player->map(player->arg, map, map->time + play->waited);
        }
    } else {
        ++play->next_use;
        play_begin(play, use);
    }

    return 1;
}

uint64_t predreg_timeline_play(const predreg_timeline_t *timeline,
                               const predreg_player_t *player)
{
    play_t play = { .timeline = timeline, .player = player };

    sort_ends(&play);
    while (play_next(&play)) {
    }

    free(play.ends);
    return timeline->duration + play.waited;
}
