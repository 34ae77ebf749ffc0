/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_RECORD_FILE_H_
#define UCS_RCACHE_RECORD_FILE_H_

#include "modules.h"
#include "ring.h"
#include "sites.h"

#include <trace/format/writer.h>
#include <ucs/base/mutex.h>
#include <ucs/host/own_fd.h>


BEGIN_C_DECLS

/** @file file.h
 *
 * The file of the trace of this process. Takes out what threads have left for
 * it, with the modules whose code is in their call stacks, and writes it. If
 * that fails, one warning says so, and nothing more is written.
 *
 * Threads: init, open, discard, close, abandon and cleanup are called by one
 * thread at a time. All functions but init, cleanup and abandon may wait for
 * each other; @ref ucs_rcache_record_file_take is called by one thread at a
 * time. Called by recorder.c.
 */

typedef struct ucs_rcache_record_file {
    ucs_mutex_t                 lock;    /**< Protects the rest */
    ucs_rcache_record_modules_t *modules;
    ucs_rcache_trace_writer_t   *writer; /**< NULL: the file is not open */
    ucs_rcache_pred_own_fd_t    fd;
    char                        *path;   /**< Valid while the file is open */
    int                         failed;  /**< Not 0: writing has failed, and
                                              nothing more is written */
} ucs_rcache_record_file_t;


/** @return UCS_ERR_NO_MEMORY. */
ucs_status_t ucs_rcache_record_file_init(ucs_rcache_record_file_t *file);

/** Free what is known of the modules. The file must not be open. */
void ucs_rcache_record_file_cleanup(ucs_rcache_record_file_t *file);

/**
 * Let the trace go to a file.
 *
 * @param [in] fd    Becomes the file's. On failure it stays the caller's.
 * @param [in] path  Of the file, for messages; copied.
 * @return UCS_ERR_IO_ERROR or UCS_ERR_NO_MEMORY, logged.
 */
ucs_status_t ucs_rcache_record_file_open(ucs_rcache_record_file_t *file, int fd,
                                         const char *path);

/** Undo the opening: the descriptor is the caller's again. */
void ucs_rcache_record_file_discard(ucs_rcache_record_file_t *file);

/** Write the rest, and close the file, which is open. */
void ucs_rcache_record_file_close(ucs_rcache_record_file_t *file);

/** In a forked child: close the descriptor of the parent's trace, to which the
 *  child must not write. Takes no lock, since a thread of the parent may have
 *  held it. */
void ucs_rcache_record_file_abandon(ucs_rcache_record_file_t *file);

/** @return whether the file is open. Only the thread that opens and closes it
 *          may call this. */
static inline int
ucs_rcache_record_file_is_open(const ucs_rcache_record_file_t *file)
{
    return file->writer != NULL;
}

/**
 * Take out the call stacks and the events that there are, and write them to the
 * file, which is open. After a failure nothing is taken out.
 *
 * @param [in]  max      Take out at most as many events.
 * @param [out] count_p  How many events were taken out.
 * @return UCS_ERR_IO_ERROR if the file could not be written, now or before.
 */
ucs_status_t ucs_rcache_record_file_take(ucs_rcache_record_file_t *file,
                                         ucs_rcache_record_ring_t *ring,
                                         ucs_rcache_record_sites_t *sites,
                                         unsigned max, unsigned *count_p);

/** Write to the file what was put so far, if it is open.
 *  @return UCS_ERR_IO_ERROR if the file could not be written, now or before. */
ucs_status_t ucs_rcache_record_file_flush(ucs_rcache_record_file_t *file);


/* The next five put a record if the file is open and could be written so far.
 * Any thread may call them. */

/** @param [in] count  Events lost after the last one that was taken out. */
void ucs_rcache_record_file_put_lost(ucs_rcache_record_file_t *file,
                                     uint64_t count);
void ucs_rcache_record_file_put_meta(ucs_rcache_record_file_t *file,
                                     const char *key, const char *value);
void ucs_rcache_record_file_put_domain(ucs_rcache_record_file_t *file,
                                       unsigned number, const char *name);
void ucs_rcache_record_file_put_counter(ucs_rcache_record_file_t *file,
                                        const char *name, uint64_t value);
void ucs_rcache_record_file_put_sends(ucs_rcache_record_file_t *file,
                                      const ucs_reuse_sends_t *sends);

END_C_DECLS

#endif
