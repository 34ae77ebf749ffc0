/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_COMMON_OUTPUT_H_
#define PREDREG_COMMON_OUTPUT_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stdio.h>

BEGIN_C_DECLS

/** @file output.h
 *
 * The file that dump or report writes. A sub-command writes a temporary file in the same
 * folder, which takes the place of the user's file once it is whole. So a full disk, an
 * error or an interrupt leaves the file that was there. Not thread safe: there is one
 * temporary file at a time.
 */

typedef struct {
    const char *command; /**< Name of the sub-command, for messages */
    const char *name;    /**< As the user gave it, for messages */
    char       *path;    /**< Path without symbolic links; NULL: there is no temporary
                              file, what is written goes to the output at once */
    FILE       *stream;  /**< The caller writes to it */
} predreg_output_t;

/**
 * Refuse an output that would destroy a recording: the file or folder that is read, or a
 * file in this folder; any trace; and, unless traces are written, a folder.
 *
 * @param [in] name       Output, as for predreg_output_open().
 * @param [in] input      File or folder that is read; "-": standard input.
 * @param [in] is_traces  Whether traces are written, which may go to a folder.
 * @return 0 or the exit status; the reason has been printed.
 */
int predreg_output_check(const char *command, const char *name, const char *input,
                         int is_traces);

/**
 * Open an output. Pipes, devices and the files behind /dev/fd, whose places no other file
 * may take, are written at once. A symbolic link stays, and its target is replaced.
 *
 * @param [in]  name    NULL or "-": standard output.
 * @param [out] output  To be closed, if this returns UCS_OK.
 * @return UCS_ERR_IO_ERROR if there is no such output; the reason has been printed.
 */
ucs_status_t predreg_output_open(const char *command, const char *name,
                                 predreg_output_t *output);

/**
 * Close an output. The user's file is replaced if everything has been written.
 *
 * @param [in] status  UCS_OK: the output is whole; UCS_ERR_IO_ERROR: it could not be
 *                     written, and errno says why; another error: it shall not be
 *                     written.
 * @return @a status, or UCS_ERR_IO_ERROR, whose reason has been printed.
 */
ucs_status_t predreg_output_close(predreg_output_t *output, ucs_status_t status);

END_C_DECLS

#endif
