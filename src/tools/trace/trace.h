/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_TRACE_H_
#define PREDREG_TRACE_H_

#include <trace/format.h>
#include <trace/writer.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

BEGIN_C_DECLS

/** @file trace.h
 *
 * Traces, for their readers: a trace in memory, and how a file of either form is
 * loaded, written and printed. docs/trace-format.md describes both forms. Uses
 * src/trace but for its recorder; the tools and the tests call it.
 *
 * Threads: the functions share no state, and a loaded trace does not change. Any
 * thread may call them.
 */

/** Version of the text form. Version 2 is the first with small sends, version 3
 *  the first with memory that was mapped. A reader accepts this version and
 *  older ones. */
#define UCS_RCACHE_TRACE_VERSION 3


/** A whole trace in memory. */
typedef struct ucs_rcache_trace {
    char                       *path;      /**< Path of the file that was read */
    ucs_rcache_trace_meta_t    *meta;
    unsigned                   num_meta;
    ucs_rcache_trace_domain_t  *domains;   /**< Indexed by the number of the domain */
    unsigned                   num_domains;
    ucs_rcache_pred_event_t    *events;    /**< Ordered by time; events of
                                                the same time in the order of
                                                recording */
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
    unsigned                   num_sends;
    uint64_t                   lost;       /**< Events that the recorder had
                                                to drop */
    int                        truncated;  /**< Not 0: the end of the file
                                                was missing, and the trace
                                                has all records before the
                                                end */
} ucs_rcache_trace_t;


/** Free a trace. NULL is accepted. */
void ucs_rcache_trace_free(ucs_rcache_trace_t *trace);

/** @return the last value of @a key, or NULL if the trace has none. */
const char *ucs_rcache_trace_get_meta(const ucs_rcache_trace_t *trace,
                                      const char *key);

/** @return 0 if the trace has no value of @a key, or the last one is no whole number from 0
 *  on; else @a value_p is that number. */
int ucs_rcache_trace_get_number(const ucs_rcache_trace_t *trace,
                                const char *key, uint64_t *value_p);

/** @return 0 if the trace has no counter of this name; else @a value_p is
 *  the last value. */
int ucs_rcache_trace_get_counter(const ucs_rcache_trace_t *trace,
                                 const char *name, uint64_t *value_p);

/** @return the call stack of the uses with this context, or NULL if the trace
 *          has none. */
const ucs_rcache_trace_site_t *
ucs_rcache_trace_find_site(const ucs_rcache_trace_t *trace,
                           const ucs_rcache_pred_context_t *context);

/** Compare two traces for qsort(): by the rank of the process, then by a name. Traces
 *  without a rank (-1) come last. */
int ucs_rcache_trace_compare(long rank_a, const char *name_a, long rank_b,
                             const char *name_b);


/**
 * Load a file, in either form.
 *
 * @param [in]  path     The file. It may be one without a size, such as a pipe.
 * @param [out] trace_p  The trace, for @ref ucs_rcache_trace_free.
 *
 * A file that turns out to be no trace is not read to its end, and a file
 * without a size is read up to 4 GiB only.
 *
 * @return UCS_ERR_NO_ELEM if there is no such file, UCS_ERR_UNSUPPORTED if it
 *         is no trace or of a newer version, UCS_ERR_INVALID_PARAM if it is
 *         damaged, UCS_ERR_EXCEEDS_LIMIT if it is too long, or UCS_ERR_IO_ERROR.
 *         The error is logged and names the file, the offset (binary) or line
 *         (text), and what was expected there. A file that only ends too early
 *         is loaded up to there, with a warning.
 */
ucs_status_t ucs_rcache_trace_load(const char *path,
                                   ucs_rcache_trace_t **trace_p);

/** Load the rest of an open file, at most @a max_size bytes (less than
 *  SIZE_MAX), as ucs_rcache_trace_load() does. @a name is for messages. */
ucs_status_t ucs_rcache_trace_load_fd(int fd, const char *name, size_t max_size,
                                      ucs_rcache_trace_t **trace_p);

/** As ucs_rcache_trace_load(), but the contents of the file, in either form, are the
 *  @a size bytes at @a data. Messages call the file @a name. */
ucs_status_t ucs_rcache_trace_parse(const char *name, const void *data,
                                    size_t size, ucs_rcache_trace_t **trace_p);

/** @return whether @a data is the begin of a trace, of either form and any version, as
 *          ucs_rcache_trace_write() and ucs_rcache_trace_print() write it. */
int ucs_rcache_trace_is_trace(const void *data, size_t size);

/** Write a whole trace to a file, in the binary form.
 *  @return UCS_ERR_IO_ERROR (errno says why) or UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_trace_write(const ucs_rcache_trace_t *trace, int fd);

/** Print a whole trace in the text form, from which the same trace can be read
 *  again. @return UCS_ERR_IO_ERROR if the stream has failed. */
ucs_status_t ucs_rcache_trace_print(const ucs_rcache_trace_t *trace,
                                    FILE *stream);

END_C_DECLS

#endif
