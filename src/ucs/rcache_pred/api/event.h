/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_EVENT_H_
#define UCS_RCACHE_PRED_EVENT_H_

#include "context.h"

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file event.h
 *
 * What happens in a cache, one event at a time, for those who record it. All
 * that is needed to play the same uses again under another policy, and to see
 * what this one did.
 *
 * Times are nanoseconds of the cache's clock, sizes are bytes.
 */

typedef enum {
    UCS_RCACHE_PRED_EVENT_USE_BEGIN, /**< A use has begun; or failed to */
    UCS_RCACHE_PRED_EVENT_USE_END,   /**< A use has ended */
    UCS_RCACHE_PRED_EVENT_REG,       /**< Memory was registered; or was not */
    UCS_RCACHE_PRED_EVENT_DEREG,     /**< Memory was deregistered; or was not */
    UCS_RCACHE_PRED_EVENT_DEADLINE,  /**< The helper has decided about a region
                                          that is not used */
    UCS_RCACHE_PRED_EVENT_UNMET,     /**< A region was registered for a use that
                                          has not come in time */
    UCS_RCACHE_PRED_EVENT_UNMAP,     /**< Memory is being unmapped */
    UCS_RCACHE_PRED_EVENT_LAST
} ucs_rcache_pred_event_type_t;


/** What became of it: bits of ucs_rcache_pred_event_t::result. */
enum {
    /* USE_BEGIN. None of them: not known, memory is managed by others */
    UCS_RCACHE_PRED_RESULT_HIT        = 1 << 0, /**< Found it registered */
    UCS_RCACHE_PRED_RESULT_EARLY      = 1 << 1, /**< As in the statistics */
    UCS_RCACHE_PRED_RESULT_LATE       = 1 << 2, /**< Likewise */
    UCS_RCACHE_PRED_RESULT_MISS       = 1 << 3, /**< Registered it itself, or
                                                     waited for another use that
                                                     did */
    UCS_RCACHE_PRED_RESULT_PIECES     = 1 << 4, /**< Goes on in pieces */

    /* USE_BEGIN, REG, DEREG */
    UCS_RCACHE_PRED_RESULT_FAILED     = 1 << 5,

    /* DEADLINE. None of them: no use is predicted */
    UCS_RCACHE_PRED_RESULT_KEPT       = 1 << 6, /**< Stays registered */
    UCS_RCACHE_PRED_RESULT_AHEAD      = 1 << 7  /**< Deregistered, and registered
                                                     again at the deadline.
                                                     UNMET: it was registered so,
                                                     and counts as wasted */
};


/** Whether a use could do without a registration of all its memory. */
typedef enum {
    UCS_RCACHE_PRED_USE_WHOLE,       /**< No */
    UCS_RCACHE_PRED_USE_PIECES,      /**< Yes, in pieces */
    UCS_RCACHE_PRED_USE_LAST_RESORT, /**< Yes, but only if there is no room */
    UCS_RCACHE_PRED_USE_LAST
} ucs_rcache_pred_use_kind_t;


/** Who registered or deregistered. */
typedef enum {
    UCS_RCACHE_PRED_BY_USE,    /**< A use, on the critical path, or who gave up
                                    an idle region */
    UCS_RCACHE_PRED_BY_HELPER, /**< The helper */
    UCS_RCACHE_PRED_BY_PIECE,  /**< A use in pieces */
    UCS_RCACHE_PRED_BY_LAST
} ucs_rcache_pred_by_t;


/** An event. Fields that are not named for its type are 0. */
typedef struct ucs_rcache_pred_event {
    uint8_t                   type;     /**< ucs_rcache_pred_event_type_t */
    uint8_t                   result;   /**< All but USE_END and UNMAP */
    uint8_t                   kind;     /**< USE_BEGIN:
                                             ucs_rcache_pred_use_kind_t */
    uint8_t                   by;       /**< REG, DEREG: ucs_rcache_pred_by_t */
    uint16_t                  domain;   /**< All but UNMAP: in the order in which
                                             domains were created, from 0 */
    uint32_t                  flags;    /**< USE_BEGIN: of the use */
    uint64_t                  time;     /**< When it began */
    uint64_t                  duration; /**< USE_BEGIN, USE_END: how long the
                                             program was held up; REG, DEREG: how
                                             long it took */
    uint64_t                  id;       /**< All but UNMAP, and REG and DEREG of
                                             pieces: the region, by a number that
                                             no other one has; or the use in
                                             pieces, likewise. A USE_END ends any
                                             one of the uses with its number */
    uint64_t                  address;  /**< All but USE_END: start of the
                                             memory */
    uint64_t                  length;   /**< All but USE_END */
    ucs_rcache_pred_context_t context;  /**< USE_BEGIN */
    uint64_t                  deadline; /**< DEADLINE: when the next use is
                                             expected to begin */
    uint64_t                  period;   /**< DEADLINE: of the history that says
                                             so */
} ucs_rcache_pred_event_t;


/**
 * Where events go.
 */
typedef struct ucs_rcache_pred_sink {
    /**
     * Something has happened. Called by any thread with the lock of the cache
     * held, one at a time, also on the critical path and inside memory hooks:
     * must not block, allocate, log, or call the cache. Events are in the order
     * in which they took effect, which is not exactly that of their times.
     */
    void (*event)(void *arg, const ucs_rcache_pred_event_t *event);
    void *arg;
} ucs_rcache_pred_sink_t;

END_C_DECLS

#endif
