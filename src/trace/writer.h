/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_WRITER_H_
#define UCS_RCACHE_TRACE_WRITER_H_

#include "format.h"

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

BEGIN_C_DECLS

/** @file writer.h
 *
 * Writes the binary form of a trace, record by record. Records are collected in
 * a buffer, which zlib packs when it is full. Uses format.h,
 * ucs/host/own_fd.h and zlib; recorder.c and src/tools/trace call it.
 *
 * Threads: one at a time for each writer. Memory is allocated only when a
 * writer is created.
 */
typedef struct ucs_rcache_trace_writer ucs_rcache_trace_writer_t;

/**
 * Create a writer.
 *
 * @param [in] fd  File to write to; the caller has to close it afterwards. Records
 *                 go to the file when the buffer is full and when the writer is
 *                 flushed. If the program closes the descriptor and another
 *                 file gets its number, the writer leaves that file alone, and
 *                 writing fails with EBADF.
 *
 * @return UCS_ERR_NO_MEMORY, logged.
 */
ucs_status_t
ucs_rcache_trace_writer_create(int fd, ucs_rcache_trace_writer_t **writer_p);

/** Finish, and free the writer. */
void ucs_rcache_trace_writer_destroy(ucs_rcache_trace_writer_t *writer);

/** Write all records that were put until now to the file.
 *
 *  @return UCS_ERR_IO_ERROR if a write has failed since the writer was created;
 *          errno is set to the error of the first failure. If the file may not
 *          grow (EFBIG), the program gets no SIGXFSZ. */
ucs_status_t ucs_rcache_trace_writer_flush(ucs_rcache_trace_writer_t *writer);

/** Write the end of the trace, with a checksum of all records. No record may be
 *  put afterwards. @return as @ref ucs_rcache_trace_writer_flush. */
ucs_status_t ucs_rcache_trace_writer_finish(ucs_rcache_trace_writer_t *writer);


/** Put a record into the buffer. If the buffer is full, its records are packed and
 *  written first. The function does not fail: the next flush tells of errors.
 *
 *  @param [in] type    TRACE_RECORD_*. Domains have to be put in the order of
 *                      their numbers, from 0. The number of lost events is put
 *                      between the last event before the loss and the next
 *                      event.
 *  @param [in] record  The structure of a record of this type, see format.h. */
void ucs_rcache_trace_put(ucs_rcache_trace_writer_t *writer, unsigned type,
                          const void *record);

static inline void
ucs_rcache_trace_put_event(ucs_rcache_trace_writer_t *writer,
                           const ucs_rcache_pred_event_t *event)
{
    ucs_rcache_trace_put(writer, TRACE_RECORD_EVENT + event->type, event);
}

END_C_DECLS

#endif
