/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef TEST_BENCH_BENCH_PEER_H_
#define TEST_BENCH_BENCH_PEER_H_

#include <ucp/api/ucp.h>

/** @file bench_peer.h
 *
 * One of two processes on this machine that send messages to each other over
 * UCP's tag interface.
 */

typedef struct bench_peer {
    int           is_server;
    int           socket;     /* To the other process */
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
} bench_peer_t;


/** Start the other process, which returns from here as well. */
void bench_peer_fork(bench_peer_t *self);

void bench_peer_connect(bench_peer_t *self);

/** Wait for the other process; the server ends here. */
void bench_peer_disconnect(bench_peer_t *self);

/** Send or receive; returns when the buffer can be used again. */
void bench_peer_send(bench_peer_t *self, const void *buffer, size_t length);
void bench_peer_recv(bench_peer_t *self, void *buffer, size_t length);

#endif
