/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_H_
#define UCS_RCACHE_TRACE_H_

#include <ucs/rcache_pred/api/event.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

BEGIN_C_DECLS

/** @file trace.h
 *
 * A trace: what one process did with its registrations, as a file. It has a
 * binary form, which is recorded, and a text form, which people and other tools
 * can write. Both are described in docs/trace-format.md.
 */

/** Version of both forms. A reader reads this one and older ones. */
#define UCS_RCACHE_TRACE_VERSION 1

/** Frames kept of a call site. */
#define UCS_RCACHE_TRACE_MAX_FRAMES 24

/** Length of a build ID, bytes, at most. */
#define UCS_RCACHE_TRACE_MAX_BUILD_ID 32


/** Something said of the run: "rank", "command", "policy" ... The keys are
 *  listed in docs/trace-format.md. */
typedef struct ucs_rcache_trace_meta {
    char *key;
    char *value;
} ucs_rcache_trace_meta_t;

/** A number the run counted itself, by its name in the summary. */
typedef struct ucs_rcache_trace_counter {
    char     *name;
    uint64_t value;
} ucs_rcache_trace_counter_t;

/** A place in the program communications are called from. */
typedef struct ucs_rcache_trace_site {
    uint64_t caller; /**< As in the contexts of its uses */
    uint64_t stack;
    unsigned num_frames;
    uint64_t frames[UCS_RCACHE_TRACE_MAX_FRAMES]; /**< Return addresses,
                                                       innermost first */
} ucs_rcache_trace_site_t;

/** A program or library that was mapped, to find symbols of addresses. */
typedef struct ucs_rcache_trace_module {
    uint64_t start;  /**< Addresses from here ... */
    uint64_t end;    /**< ... to before here are its code */
    uint64_t bias;   /**< Address in memory less address in the file */
    char     *path;
    unsigned build_id_length; /**< 0: has none */
    uint8_t  build_id[UCS_RCACHE_TRACE_MAX_BUILD_ID];
} ucs_rcache_trace_module_t;


/** A trace in memory. */
typedef struct ucs_rcache_trace {
    char                       *path;      /**< File it was read from */
    ucs_rcache_trace_meta_t    *meta;
    unsigned                   num_meta;
    char                       **domains;  /**< Names, by number */
    unsigned                   num_domains;
    ucs_rcache_pred_event_t    *events;    /**< In the order of their times, of
                                                equal ones as recorded */
    size_t                     num_events;
    ucs_rcache_trace_site_t    *sites;
    unsigned                   num_sites;
    ucs_rcache_trace_module_t  *modules;
    unsigned                   num_modules;
    ucs_rcache_trace_counter_t *counters;  /**< At the end of the run; none if it
                                                did not come to its end */
    unsigned                   num_counters;
    uint64_t                   lost;       /**< Events the recorder could not
                                                keep up with */
    int                        truncated;  /**< The end of the file is missing;
                                                what is before it was read */
} ucs_rcache_trace_t;


/**
 * Read a trace, in either form.
 *
 * @return UCS_ERR_NO_ELEM if there is no such file, UCS_ERR_UNSUPPORTED if it is
 *         no trace or of a newer version, UCS_ERR_INVALID_PARAM if it is
 *         damaged, UCS_ERR_IO_ERROR or UCS_ERR_NO_MEMORY. Logged, naming the
 *         file, the offset (binary) or line (text), and what was expected there.
 *         A file that only ends too early is read up to there, with a warning.
 */
ucs_status_t ucs_rcache_trace_load(const char *path,
                                   ucs_rcache_trace_t **trace_p);

/** Whether a file that begins with this is meant to be a trace, in either form as
 *  it is written here, of any version. */
int ucs_rcache_trace_is_trace(const void *data, size_t size);

/** As @ref ucs_rcache_trace_load, from memory; @a name is for messages. */
ucs_status_t ucs_rcache_trace_parse(const char *name, const void *data,
                                    size_t size, ucs_rcache_trace_t **trace_p);

void ucs_rcache_trace_free(ucs_rcache_trace_t *trace);

/** @return the value, or NULL if nothing is said of that. */
const char *ucs_rcache_trace_get_meta(const ucs_rcache_trace_t *trace,
                                      const char *key);

/** @return 0 if it was not counted. */
int ucs_rcache_trace_get_counter(const ucs_rcache_trace_t *trace,
                                 const char *name, uint64_t *value_p);

/** @return the site of a context, or NULL if it is not known. */
const ucs_rcache_trace_site_t *
ucs_rcache_trace_find_site(const ucs_rcache_trace_t *trace,
                           const ucs_rcache_pred_context_t *context);

/** Write the text form. @return UCS_ERR_IO_ERROR. */
ucs_status_t ucs_rcache_trace_print(const ucs_rcache_trace_t *trace,
                                    FILE *stream);

/** Write the binary form. @return UCS_ERR_IO_ERROR (errno says why) or
 *          UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_trace_write(const ucs_rcache_trace_t *trace, int fd);


/**
 * The binary form, being written. One thread at a time. Allocates only when it
 * is created.
 */
typedef struct ucs_rcache_trace_writer ucs_rcache_trace_writer_t;

/**
 * @param [in] fd  File that is written to; stays the caller's. What was put is
 *                 written when a buffer is full and when it is flushed. A file
 *                 that gets its number later is not written to: that fails with
 *                 EBADF.
 */
ucs_status_t ucs_rcache_trace_writer_create(int fd,
                                            ucs_rcache_trace_writer_t **writer_p);

/** Flushes. */
void ucs_rcache_trace_writer_destroy(ucs_rcache_trace_writer_t *writer);

/** @return UCS_ERR_IO_ERROR if anything could not be written since the writer
 *          was created; errno is that of the first time. No signal tells of
 *          EFBIG. */
ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer);

/* Put a record. Errors show when it is flushed. */
void ucs_rcache_trace_put_event(ucs_rcache_trace_writer_t *writer,
                                const ucs_rcache_pred_event_t *event);
void ucs_rcache_trace_put_lost(ucs_rcache_trace_writer_t *writer,
                               uint64_t count);
void ucs_rcache_trace_put_meta(ucs_rcache_trace_writer_t *writer,
                               const char *key, const char *value);
void ucs_rcache_trace_put_domain(ucs_rcache_trace_writer_t *writer,
                                 unsigned number, const char *name);
void ucs_rcache_trace_put_site(ucs_rcache_trace_writer_t *writer,
                               const ucs_rcache_trace_site_t *site);
void ucs_rcache_trace_put_module(ucs_rcache_trace_writer_t *writer,
                                 const ucs_rcache_trace_module_t *module);
void ucs_rcache_trace_put_counter(ucs_rcache_trace_writer_t *writer,
                                  const char *name, uint64_t value);

END_C_DECLS

#endif
