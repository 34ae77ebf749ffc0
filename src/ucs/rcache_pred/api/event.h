/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_EVENT_H_
#define UCS_RCACHE_PRED_EVENT_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file event.h
 *
 * The events of a cache, for those who record traces. The events have all that
 * is needed to replay the same uses under another policy, and to see what the
 * policy in force did.
 *
 * Times are nanoseconds of the cache's clock, sizes are bytes.
 */

/*
 * The context of a communication: its caller, and the communications before (CF'11,
 * section 3.1). Filling in a context takes a few loads and stores; the helper hashes the
 * context into a signature later.
 */

/** Length of the longest context window: how many communications before the
 *  present one the window remembers. */
#define UCS_RCACHE_PRED_MAX_WINDOW 4


/** Kind of communication. */
typedef enum {
    UCS_RCACHE_PRED_COMM_UNKNOWN,
    UCS_RCACHE_PRED_COMM_SEND,
    UCS_RCACHE_PRED_COMM_RECV,
    UCS_RCACHE_PRED_COMM_PUT,
    UCS_RCACHE_PRED_COMM_GET
} ucs_rcache_pred_comm_t;


/** A communication as the predictor sees it. Plain data. */
typedef struct ucs_rcache_pred_context {
    uint64_t caller;  /**< The address from which the communication was called,
                           mixed with the kind of the communication */
    uint64_t stack;   /**< Tells apart the paths by which the program reaches
                           one caller: the number of the path of calls, see
                           ucs/callpath, or the value of the stack pointer if
                           the path is not known */
    uint64_t window;  /**< Hash of the kinds and addresses of the communications before */
} ucs_rcache_pred_context_t;


/** The context window of a thread: its last communications. Only the thread itself uses
 *  the window, without a lock. */
typedef struct ucs_rcache_pred_window {
    uint64_t comm[UCS_RCACHE_PRED_MAX_WINDOW]; /**< The communications, the most
                                                    recent one first */
} ucs_rcache_pred_window_t;


/**
 * Fill in the context of a communication that is about to start, and remember
 * the communication in the window, for the contexts of later ones.
 *
 * @param [in]  length  How many communications of the window belong to the
 *                      context, 0..UCS_RCACHE_PRED_MAX_WINDOW.
 */
static UCS_F_ALWAYS_INLINE void
ucs_rcache_pred_context_add(ucs_rcache_pred_window_t *window,
                            unsigned length, ucs_rcache_pred_comm_t comm,
                            const void *address, const void *caller,
                            uint64_t stack,
                            ucs_rcache_pred_context_t *context)
{
    uint64_t hash = 0;
    unsigned i;

    for (i = 0; i < length; ++i) {
        /* The rotation makes the order count: A before B gives another hash
         * than B before A */
        hash = ((hash << 21) | (hash >> 43)) ^ window->comm[i];
    }

    context->caller = (uintptr_t)caller + ((uint64_t)comm << 56);
    context->stack  = stack;
    context->window = hash;

    for (i = UCS_RCACHE_PRED_MAX_WINDOW - 1; i > 0; --i) {
        window->comm[i] = window->comm[i - 1];
    }
    window->comm[0] = (uintptr_t)address + ((uint64_t)comm << 56);
}


typedef enum {
    UCS_RCACHE_PRED_EVENT_USE_BEGIN, /**< A use has begun, or has failed to
                                          begin */
    UCS_RCACHE_PRED_EVENT_USE_END,   /**< A use has ended */
    UCS_RCACHE_PRED_EVENT_REG,       /**< Memory was registered, or the attempt
                                          failed */
    UCS_RCACHE_PRED_EVENT_DEREG,     /**< Memory was deregistered, or the
                                          attempt failed */
    UCS_RCACHE_PRED_EVENT_DEADLINE,  /**< The helper has decided what to do with
                                          a region until its next use */
    UCS_RCACHE_PRED_EVENT_UNMET,     /**< A region was registered ahead of a
                                          use, or kept for it, and the use has
                                          not come in time */
    UCS_RCACHE_PRED_EVENT_UNMAP,     /**< Memory is being unmapped */
    UCS_RCACHE_PRED_EVENT_MAP,       /**< The program has mapped memory that an
                                          arena could have served. The cache
                                          does not send this event */
    UCS_RCACHE_PRED_EVENT_LAST
} ucs_rcache_pred_event_type_t;


/** The result of an event: bits of ucs_rcache_pred_event_t::result. */
enum {
    /* Bits of USE_BEGIN. No bit is set if UCX's own cache manages the memory,
     * since UCX does not tell what its cache has done */
    UCS_RCACHE_PRED_RESULT_HIT        = 1 << 0, /**< The use found its region
                                                     registered */
    UCS_RCACHE_PRED_RESULT_EARLY      = 1 << 1, /**< The use was counted as
                                                     early in the statistics */
    UCS_RCACHE_PRED_RESULT_LATE       = 1 << 2, /**< The use was counted as late
                                                     in the statistics */
    UCS_RCACHE_PRED_RESULT_MISS       = 1 << 3, /**< The use registered its region itself,
                                                     or waited for another use's
                                                     registration */
    UCS_RCACHE_PRED_RESULT_PIECES     = 1 << 4, /**< The memory is registered in
                                                     pieces */

    /* Bit of USE_BEGIN, REG and DEREG */
    UCS_RCACHE_PRED_RESULT_FAILED     = 1 << 5,

    /* Bits of DEADLINE. No bit is set if no use is predicted */
    UCS_RCACHE_PRED_RESULT_KEPT       = 1 << 6, /**< The region stays registered
                                                     until its deadline. In
                                                     USE_BEGIN, with HIT: the
                                                     memory is of an arena and
                                                     stays registered */
    UCS_RCACHE_PRED_RESULT_AHEAD      = 1 << 7  /**< The region is deregistered, and
                                                     registered again at its deadline. In
                                                     UNMET: the region had been registered
                                                     again, and the registration counts as
                                                     wasted */
};


/** Whether a use can begin before all its memory is registered at once. */
typedef enum {
    UCS_RCACHE_PRED_USE_WHOLE,       /**< The use needs all its memory
                                          registered */
    UCS_RCACHE_PRED_USE_PIECES,      /**< The use can register its memory in
                                          pieces */
    UCS_RCACHE_PRED_USE_LAST_RESORT, /**< The use can register its memory in
                                          pieces, but shall do so only if there
                                          is no room to register all of it */
    UCS_RCACHE_PRED_USE_LAST
} ucs_rcache_pred_use_kind_t;


/** Who registered or deregistered memory. */
typedef enum {
    UCS_RCACHE_PRED_BY_USE,    /**< A use, on the critical path; or any thread
                                    that has deregistered an idle region to make
                                    room */
    UCS_RCACHE_PRED_BY_HELPER, /**< The helper */
    UCS_RCACHE_PRED_BY_PIECE,  /**< A use in pieces */
    UCS_RCACHE_PRED_BY_LAST
} ucs_rcache_pred_by_t;


/** An event. The comment on a field names the types of events that have it; in
 *  other events the field is 0. */
typedef struct ucs_rcache_pred_event {
    uint8_t                   type;     /**< ucs_rcache_pred_event_type_t */
    uint8_t                   result;   /**< All but USE_END, UNMAP, MAP: bits
                                             UCS_RCACHE_PRED_RESULT_* */
    uint8_t                   kind;     /**< USE_BEGIN:
                                             ucs_rcache_pred_use_kind_t */
    uint8_t                   by;       /**< REG, DEREG: ucs_rcache_pred_by_t */
    uint16_t                  domain;   /**< All but UNMAP and MAP: number of
                                             the domain, from 0 in the order of
                                             creation */
    uint32_t                  flags;    /**< USE_BEGIN: the use's flags for the
                                             registration */
    uint64_t                  time;     /**< Begin of the reported action */
    uint64_t                  duration; /**< USE_BEGIN, USE_END: how long the
                                             program was held up; REG, DEREG:
                                             how long the operation took */
    uint64_t                  id;       /**< A number that names the region, or
                                             the use in pieces; no other region
                                             or use in pieces has the same. 0 in
                                             UNMAP and MAP, and in REG and DEREG
                                             of pieces. Uses of memory of an
                                             arena have the number of the slab
                                             in the arena. A USE_END says that
                                             one of the uses with this number
                                             has ended, but not which one */
    uint64_t                  address;  /**< All but USE_END: start of the
                                             memory */
    uint64_t                  length;   /**< All but USE_END: size of the
                                             memory */
    ucs_rcache_pred_context_t context;  /**< USE_BEGIN: context of the
                                             communication */
    uint64_t                  deadline; /**< DEADLINE: when the next use is
                                             expected to begin */
    uint64_t                  period;   /**< DEADLINE: period of the history behind the
                                             deadline */
} ucs_rcache_pred_event_t;


/**
 * A receiver of events.
 */
typedef struct ucs_rcache_pred_sink {
    /**
     * Receive one event. Any thread calls the function, but only one at a time, since the
     * caller holds the lock of the cache. The cache calls the function on the critical
     * path and inside memory hooks as well: it must not block, allocate, log or call the
     * cache. Events come in the order of their effects, which is not exactly the order of
     * their times.
     */
    void (*event)(void *arg, const ucs_rcache_pred_event_t *event);
    void *arg;
} ucs_rcache_pred_sink_t;

END_C_DECLS

#endif
