/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * UCP without Firehose, which it is measured beside: a worker of the program,
 * an endpoint to that of a peer, and a key to all of its memory.
 */

#ifndef TEST_APPS_FHPLAIN_H_
#define TEST_APPS_FHPLAIN_H_

#include "fhjob.h"

typedef struct {
    fhjob_t      *job;
    ucp_worker_h worker;
    ucp_ep_h     ep;      /* To the peer */
    ucp_mem_h    memh;    /* fhplain_pin() */
    void         *key;    /* Likewise */
    ucp_rkey_h   rkey;    /* fhplain_unpack() */
} fhplain_t;


/* Make the worker, and an endpoint to that of a peer, which does so as well.
 * All processes call it. */
void fhplain_open(fhplain_t *plain, fhjob_t *job, int peer);
void fhplain_close(fhplain_t *plain);

/* Pin all memory of this process, and let the others know its key. */
void fhplain_pin(fhplain_t *plain);

/* Unpack the key to all memory of a peer, which has been told meanwhile. */
void fhplain_unpack(fhplain_t *plain, int peer);

/* @return whether a request of UCP has ended; it is freed then */
int fhplain_has_ended(fhplain_t *plain, ucs_status_ptr_t request);

void fhplain_wait(fhplain_t *plain, ucs_status_ptr_t request);
void fhplain_flush(fhplain_t *plain);

/* Progress the worker, until fhplain_end_service() is called in another
 * process. A function is called in between. Without one, little is expected to
 * be done here, and this process sleeps now and then, as Firehose does. */
void fhplain_serve(fhplain_t *plain, void (*function)(void *arg), void *arg);
void fhplain_end_service(fhplain_t *plain);

#endif
