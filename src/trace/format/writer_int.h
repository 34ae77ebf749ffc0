/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_WRITER_INT_H_
#define UCS_RCACHE_TRACE_WRITER_INT_H_

#include "format.h"

#include <ucs/host/own_fd.h>

/** @file writer_int.h
 *
 * A writer of the binary form, as writer.c and write_record.c see it: the one
 * writes to the file what the other has put into the buffer.
 */

/** The buffer has the head of the file, which is written once, the head of a
 *  chunk, and the records of that chunk. These are their offsets. */
enum {
    TRACE_WRITER_CHUNK   = TRACE_HEAD_SIZE,
    TRACE_WRITER_RECORDS = TRACE_WRITER_CHUNK + TRACE_CHUNK_HEAD,
    TRACE_WRITER_END     = TRACE_WRITER_RECORDS + TRACE_CHUNK_MAX_LENGTH
};


/** A writer. Its user makes sure that only one thread at a time uses it. */
struct ucs_rcache_trace_writer {
    ucs_rcache_pred_own_fd_t file;
    int                      started; /**< The head of the file is written */
    int                      error;   /**< errno of the first failure, or 0 */
    uint32_t                 num_records; /**< Number of records in the chunk so
                                               far */
    uint8_t                  *next;   /**< End of the records in the chunk */
    trace_known_t            known;

    /** By the hash of a subject or of a manner: where one with that hash was
     *  remembered last. It may have been replaced since. */
    uint8_t                  subject_slots[TRACE_KNOWN];
    uint8_t                  manner_slots[TRACE_KNOWN];

    uint8_t                  buffer[TRACE_WRITER_END];
};

#endif
