/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCP_FH_DRIVE_H_
#define UCP_FH_DRIVE_H_

#include "state.h"

/** @file drive.h
 *
 * What makes the library go on by itself: its worker is progressed, and messages
 * that have come are handled. The library's thread does so always, and a thread
 * of the program as long as it waits for an answer: it runs already, and to wake
 * another thread takes longer than to handle a message. */

typedef enum {
    UCP_FH_DRIVE_NOTHING, /**< Nothing has happened */
    UCP_FH_DRIVE_DONE,    /**< Something has */
    UCP_FH_DRIVE_TAKEN    /**< Another thread is at it */
} ucp_fh_drive_result_t;

/** Go on, by the library's thread. Without lock. */
ucp_fh_drive_result_t ucp_fh_drive(ucp_fh_t *fh);

/** Go on, by a thread of the program that is going to do so again soon: the
 *  library's thread leaves it to that. Without lock, and not in a function that
 *  UCP calls for the library's worker.
 *
 *  @return whether anything has happened. */
int ucp_fh_drive_help(ucp_fh_t *fh);

typedef enum {
    UCP_FH_DRIVE_BUSY,  /**< There may be something to do right now */
    UCP_FH_DRIVE_ARMED, /**< ucp_fh::worker_fd tells when there is */
    UCP_FH_DRIVE_BLIND  /**< Nothing tells */
} ucp_fh_drive_state_t;

/** To be called by the library's thread before it sleeps. From then on it is
 *  woken by whoever sends something. */
ucp_fh_drive_state_t ucp_fh_drive_arm(ucp_fh_t *fh);

/** To be called by the library's thread after that, when it has slept. */
void ucp_fh_drive_disarm(ucp_fh_t *fh);

#endif
