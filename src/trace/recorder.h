/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORDER_H_
#define UCS_RCACHE_RECORDER_H_

#include <ucs/rcache_pred/api/event.h>
#include <ucs/reuse/sends.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file recorder.h
 *
 * Writes the trace of the process it runs in. Threads copy events into a ring as
 * the events happen; a thread of the recorder takes the events out, packs them and
 * writes the file, ten times a second and whenever the ring is half full. The trace
 * of a process that is killed, or calls _exit or exec, lacks what the process did
 * since the last turn of the recorder's thread: up to 100 ms, or half a ring, and
 * more if the thread finds no processor.
 *
 * If the file cannot be written, one warning says so, recording stops and the
 * process goes on. Uses ring.h, sites.h and writer.h; the core of
 * uct/ib/predreg calls it.
 */

typedef struct ucs_rcache_recorder ucs_rcache_recorder_t;


/** Allocate all that recording needs, except for the thread.
 *  @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_recorder_create(ucs_rcache_recorder_t **recorder_p);

/** Free a recorder, after finish. */
void ucs_rcache_recorder_destroy(ucs_rcache_recorder_t *recorder);

/**
 * Start the thread, and record events from now on.
 *
 * @param [in] fd    Open file, which the recorder will close. On failure the caller
 *                   has to close the file.
 * @param [in] path  Path of the file, for messages; copied.
 * @return UCS_ERR_IO_ERROR, UCS_ERR_NO_MEMORY, or UCS_ERR_NO_RESOURCE if the
 *         system has no room for a thread; logged.
 */
ucs_status_t ucs_rcache_recorder_start(ucs_rcache_recorder_t *recorder, int fd,
                                       const char *path);

/** Record no more events, and wait until all recorded events were put into the
 *  file. Records that are put afterwards come behind these events. Does nothing if
 *  the recorder is not recording. */
void ucs_rcache_recorder_stop(ucs_rcache_recorder_t *recorder);

/** After stop: write the end of the trace and close the file. */
void ucs_rcache_recorder_finish(ucs_rcache_recorder_t *recorder);

/** In a forked child: close the descriptor of the parent's trace, to which the
 *  child must not write. */
void ucs_rcache_recorder_abandon(ucs_rcache_recorder_t *recorder);


/* The next two functions record between start and stop, and do nothing at other
 * times. Any thread may call them. */

/**
 * Record an event: the function of a ucs_rcache_pred_sink_t, whose arg is the
 * recorder. Lock-free, and safe in a memory hook. It makes a system call only
 * when the ring becomes half full, to wake the thread.
 */
void ucs_rcache_recorder_event(void *arg, const ucs_rcache_pred_event_t *event);

/** Record the call stack of the communication that the calling thread makes,
 *  unless the stack of the same place was recorded before. */
void ucs_rcache_recorder_site(ucs_rcache_recorder_t *recorder,
                              const ucs_rcache_pred_context_t *context);


/* The next five functions put a record, or write records to the file, and may
 * wait for the file. They act between start and finish, and do nothing at other
 * times. Any thread may call them. */

void ucs_rcache_recorder_meta(ucs_rcache_recorder_t *recorder, const char *key,
                              const char *value);
void ucs_rcache_recorder_domain(ucs_rcache_recorder_t *recorder,
                                unsigned number, const char *name);
void ucs_rcache_recorder_counter(ucs_rcache_recorder_t *recorder,
                                 const char *name, uint64_t value);
void ucs_rcache_recorder_sends(ucs_rcache_recorder_t *recorder,
                               const ucs_reuse_sends_t *sends);

/** Write all records put so far to the file now, instead of at the next turn of the
 *  recorder's thread. */
void ucs_rcache_recorder_flush(ucs_rcache_recorder_t *recorder);

END_C_DECLS

#endif
