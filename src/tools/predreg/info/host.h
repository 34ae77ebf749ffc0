/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_HOST_H_
#define PREDREG_INFO_HOST_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file host.h
 *
 * What this machine is, and what it gives to a process: all that does not
 * depend on UCX. info.c calls this. */

#define PREDREG_HOST_TEXT 256

typedef struct {
    char     kernel[PREDREG_HOST_TEXT];
    char     distribution[PREDREG_HOST_TEXT];
    char     launcher[PREDREG_HOST_TEXT]; /**< Command whose version follows;
                                               empty: there is none */
    char     mpi[PREDREG_HOST_TEXT];      /**< What it says of itself */
    char     devices[PREDREG_HOST_TEXT];  /**< RDMA devices that the kernel has,
                                               separated by spaces */
    uint64_t memlock;                     /**< Limit of locked memory, bytes, or
                                               UINT64_MAX */
    int      is_unlimited; /**< Whether CAP_IPC_LOCK lifts the limit */
    unsigned processors;   /**< That a thread of a process here may use */
    unsigned managed;      /**< Processes of this user with the library now */
} predreg_host_t;


/**
 * Look at this machine.
 *
 * @param [in] launcher  Launcher whose version is asked for; NULL: mpirun, if
 *                       there is one.
 */
void predreg_host_find(const char *launcher, predreg_host_t *host);

/** Take the version from what a launcher prints about itself: the first line
 *  with a number in it, after the first line. Pure.
 *
 * @param [in]  text     It is changed.
 * @param [out] version  Empty if there is none.
 */
void predreg_host_read_version(char *text, char *version, unsigned max);

END_C_DECLS

#endif
