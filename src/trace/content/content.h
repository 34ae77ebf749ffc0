/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_CONTENT_H_
#define UCS_RCACHE_TRACE_CONTENT_H_

#include <ucs/rcache_pred/api/event.h>
#include <ucs/reuse/sends.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

BEGIN_C_DECLS

/** @file content.h
 *
 * What a trace says, whichever of its two forms the file has: the events of one
 * process, and what is needed to understand them. docs/trace-format.md
 * describes both forms. Uses the events of the cache (event.h) only; everybody
 * who reads, writes or replays traces uses it.
 *
 * Threads: a loaded trace does not change, so that any number of threads may
 * read it.
 */

/** Version of both forms. A reader accepts this version and older ones. */
#define UCS_RCACHE_TRACE_VERSION 3

/** The first version that has small sends. */
#define UCS_RCACHE_TRACE_VERSION_SENDS 2

/** The first version that has memory that was mapped. */
#define UCS_RCACHE_TRACE_VERSION_MAPS 3

/** No small buffer was sent more often than that, in a trace: the sums over all
 *  buffers are numbers of 64 bits as well. */
#define UCS_RCACHE_TRACE_MAX_COUNT (1ul << 40)

/** A call site has at most this many frames; outer ones are left out. */
#define UCS_RCACHE_TRACE_MAX_FRAMES 24

/** Longest build ID of a module, bytes. */
#define UCS_RCACHE_TRACE_MAX_BUILD_ID 32

/** Longest string in a trace, bytes without the terminating zero. */
#define UCS_RCACHE_TRACE_MAX_STRING 16383


/** A property of the run as a whole, such as its "rank", "command" or "policy".
 *  docs/trace-format.md lists the keys. */
typedef struct ucs_rcache_trace_meta {
    char *key;
    char *value;
} ucs_rcache_trace_meta_t;

/** A counter of the run at its end, with the name it has in the summary. */
typedef struct ucs_rcache_trace_counter {
    char     *name;
    uint64_t value;
} ucs_rcache_trace_counter_t;

/** A place in the program that calls communications: a call stack. */
typedef struct ucs_rcache_trace_site {
    uint64_t caller; /**< Caller as in the contexts of the uses from this
                          place */
    uint64_t stack;  /**< Path of calls as there */
    unsigned num_frames;
    uint64_t frames[UCS_RCACHE_TRACE_MAX_FRAMES]; /**< Return addresses,
                                                       innermost first */
} ucs_rcache_trace_site_t;

/** The program, or a library that it had mapped. It says in which file the
 *  symbol of an address is found. */
typedef struct ucs_rcache_trace_module {
    uint64_t start;  /**< Addresses from here ... */
    uint64_t end;    /**< ... to before here are its code */
    uint64_t bias;   /**< Address in memory less address in the file */
    char     *path;
    unsigned build_id_length; /**< 0: has none */
    uint8_t  build_id[UCS_RCACHE_TRACE_MAX_BUILD_ID];
} ucs_rcache_trace_module_t;


/** A whole trace in memory. */
typedef struct ucs_rcache_trace {
    char                       *path;      /**< File it was read from */
    ucs_rcache_trace_meta_t    *meta;
    unsigned                   num_meta;
    char                       **domains;  /**< Names, by number */
    unsigned                   num_domains;
    ucs_rcache_pred_event_t    *events;    /**< Ordered by time; events of the
                                                same time are in the order in
                                                which they were recorded */
    size_t                     num_events;
    ucs_rcache_trace_site_t    *sites;
    unsigned                   num_sites;
    ucs_rcache_trace_module_t  *modules;
    unsigned                   num_modules;
    ucs_rcache_trace_counter_t *counters;  /**< Counters at the end of the run;
                                                none if the run did not come to
                                                its end */
    unsigned                   num_counters;
    ucs_reuse_sends_t          *sends;     /**< Small sends: a row for each
                                                buffer and class of length, in
                                                any order */
    size_t                     num_sends;
    uint64_t                   lost;       /**< Events that the recorder dropped
                                                because it could not keep up */
    int                        truncated;  /**< Not 0: the end of the file was
                                                missing, the trace has what was
                                                before it */
} ucs_rcache_trace_t;


/** Free a trace and all it has. NULL is accepted. */
void ucs_rcache_trace_free(ucs_rcache_trace_t *trace);

/** @return the value that was given last for @a key, or NULL if the trace has
 *          none. */
const char *ucs_rcache_trace_get_meta(const ucs_rcache_trace_t *trace,
                                      const char *key);

/** @return 0 if the trace has no counter of that name; else @a value_p is set
 *          to the one that was written last. */
int ucs_rcache_trace_get_counter(const ucs_rcache_trace_t *trace,
                                 const char *name, uint64_t *value_p);

/** @return the call stack of the uses with this context, or NULL if the trace
 *          has none. */
const ucs_rcache_trace_site_t *
ucs_rcache_trace_find_site(const ucs_rcache_trace_t *trace,
                           const ucs_rcache_pred_context_t *context);

END_C_DECLS

#endif
