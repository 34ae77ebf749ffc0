/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORDER_H_
#define UCS_RCACHE_RECORDER_H_

#include <ucs/rcache_pred/api/event.h>

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file recorder.h
 *
 * Writes the trace of a running process. Events are copied into a ring, by
 * whoever makes them; a thread takes them out, encodes them and writes the
 * file, ten times a second and whenever the ring is half full. If the process
 * is killed, or calls _exit or exec, what it did since the last turn is
 * missing: up to 100 ms, or what fills half of the ring, and more if the thread
 * finds no processor. What was there before is in the file.
 *
 * If the file cannot be written, one warning says so, recording stops and the
 * process goes on.
 */

typedef struct ucs_rcache_recorder ucs_rcache_recorder_t;


/** Allocates all there is, but for the thread. @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_recorder_create(ucs_rcache_recorder_t **recorder_p);

/** Must not be recording. */
void ucs_rcache_recorder_destroy(ucs_rcache_recorder_t *recorder);

/**
 * Begin to record.
 *
 * @param [in] fd    File, which becomes the recorder's. On failure it stays the
 *                   caller's.
 * @param [in] path  Of the file, for messages; copied.
 * @return UCS_ERR_IO_ERROR, UCS_ERR_NO_MEMORY, or UCS_ERR_NO_RESOURCE if the
 *         system has no room for a thread; logged.
 */
ucs_status_t ucs_rcache_recorder_start(ucs_rcache_recorder_t *recorder, int fd,
                                       const char *path);

/** Record no more events; returns when all are in the file. What is put after
 *  it comes after them. No-op if not recording. */
void ucs_rcache_recorder_stop(ucs_rcache_recorder_t *recorder);

/** After stop: write the rest and close the file. */
void ucs_rcache_recorder_finish(ucs_rcache_recorder_t *recorder);

/** In a forked child: let go of the parent's recorder. */
void ucs_rcache_recorder_abandon(ucs_rcache_recorder_t *recorder);


/* What is recorded between start and stop. Any thread. */

/**
 * The function of a ucs_rcache_pred_sink_t, whose arg is the recorder. One at a
 * time. Wait-free, and safe in a memory hook; a system call only to wake the
 * thread, once when the ring becomes half full.
 */
void ucs_rcache_recorder_event(void *arg, const ucs_rcache_pred_event_t *event);

/** The same, for those who do not hold the lock of a cache: waits for others
 *  that do the same. Not in a process where a cache has the recorder for its
 *  sink. */
void ucs_rcache_recorder_emit(ucs_rcache_recorder_t *recorder,
                              const ucs_rcache_pred_event_t *event);

/** The calling thread issues a communication: if it comes from there for the
 *  first time, the stack is recorded. */
void ucs_rcache_recorder_site(ucs_rcache_recorder_t *recorder,
                              const ucs_rcache_pred_context_t *context);


/* These may wait for the file. Between start and finish; else no-op. Any
 * thread. */

void ucs_rcache_recorder_meta(ucs_rcache_recorder_t *recorder, const char *key,
                              const char *value);
void ucs_rcache_recorder_domain(ucs_rcache_recorder_t *recorder,
                                unsigned number, const char *name);
void ucs_rcache_recorder_counter(ucs_rcache_recorder_t *recorder,
                                 const char *name, uint64_t value);

/** What was put so far is in the file when it returns: without it, only after
 *  the thread's next turn. */
void ucs_rcache_recorder_flush(ucs_rcache_recorder_t *recorder);

END_C_DECLS

#endif
