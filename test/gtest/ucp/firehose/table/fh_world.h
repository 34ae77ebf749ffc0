/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_FH_WORLD_H_
#define PREDREG_GTEST_FH_WORLD_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include <ucp/firehose/table/local.h>
#include <ucp/firehose/table/remote.h>
}

/*
 * A few nodes with both tables, their threads, workers that pin, and a network
 * that a test drives step by step, in any order. All of it is plain memory, so
 * that a world can be copied and be put back (test_heap_begin()).
 */

constexpr unsigned FH_NODES    = 3;
constexpr unsigned FH_THREADS  = 12;
constexpr unsigned FH_MESSAGES = 64;
constexpr unsigned FH_WORKS    = 2;   /* Workers of a node */
constexpr unsigned FH_HANDLES  = 256;
constexpr unsigned FH_SHIFT    = 12;
constexpr uint64_t FH_FIRST    = 100; /* First bucket of each node's memory */

/* What a thread does in turn */
enum fh_program_t {
    FH_REMOTE, /* Use buckets of another node */
    FH_LOCAL,  /* Pin buckets of its own */
    FH_BOTH    /* Pin some, and then use some of another node, as a put does */
};

struct fh_params_t {
    unsigned     nodes          = 2;
    unsigned     threads[FH_NODES] = {2, 0, 0};
    unsigned     ops            = 2;  /* Of each thread */
    fh_program_t program        = FH_REMOTE;
    unsigned     buckets        = 4;  /* Exposed, of each node */
    unsigned     max_run        = 2;  /* Buckets of a run */
    unsigned     share          = 2;  /* f */
    unsigned     max_victim     = 1;  /* Buckets */
    unsigned     max_move       = 8;
    unsigned     da_limit       = 2;
    unsigned     workers        = 1;
    unsigned     withdraws      = 0;  /* How many of node 1's memory */
    bool         has_edge       = false; /* Of the first bucket a half is
                                            exposed; local pins want all */
    bool         fails          = false; /* Whether operations may fail */
    ucs_status_t error          = UCS_ERR_IO_ERROR; /* With what pins fail */
    unsigned     tries          = 0;  /* How often they are tried again, before
                                         the last time */
};

enum fh_step_kind_t {
    FH_STEP_PIN,      /* Thread: pin a run */
    FH_STEP_ACQUIRE,  /* Thread: acquire a run of a node */
    FH_STEP_RELEASE,  /* Thread */
    FH_STEP_DELIVER,  /* Message */
    FH_STEP_ANSWER,   /* Message that was handled */
    FH_STEP_WORK,     /* Node: begin an operation */
    FH_STEP_DONE,     /* Worker of a node: it ends, or fails */
    FH_STEP_AGAIN,    /* Node: what was refused is tried again; 1: once */
    FH_STEP_WITHDRAW, /* Node 1: its memory goes away */
    FH_STEP_EXPOSE,   /* Node 1: and comes back */
    FH_STEP_RECALL,   /* Node is asked to give memory of node 1 back */
    FH_STEP_KILL,     /* Node dies */
    FH_STEP_NOTICE    /* Node notices that another one has died */
};

struct fh_step_t {
    fh_step_kind_t kind;
    unsigned       who;
    unsigned       peer;
    unsigned       first; /* Of the run, from FH_FIRST on */
    unsigned       num;
    bool           fails;
};

enum fh_thread_state_t {
    FH_IDLE,
    FH_PIN_WAITS,
    FH_PINNED,
    FH_REQUEST_WAITS,
    FH_HELD
};

struct fh_thread_t {
    ucp_fh_request_t  request; /* First member */
    ucp_fh_pin_t      pin;
    unsigned          node;
    unsigned          ops;     /* How many are left */
    fh_thread_state_t state;
    bool              has_pin;
};

enum fh_message_state_t {
    FH_NO_MESSAGE,
    FH_SENT,
    FH_SERVED, /* Being handled by the target */
    FH_ANSWERED
};

struct fh_message_t {
    fh_message_state_t state;
    unsigned           from;
    unsigned           to;
    uint64_t           number; /* In the order of sending */
    ucp_fh_move_t      *move;
    ucp_fh_serve_t     *serve;
    ucp_fh_answer_t    *answers;
    ucs_status_t       status;
};

struct fh_node_t {
    ucp_fh_remote_t   remote;
    ucp_fh_local_t    local;
    ucp_fh_exposed_t  exposed;
    ucp_fh_withdraw_t withdraw;
    ucp_fh_work_t     works[FH_WORKS];
    bool              is_working[FH_WORKS];
    uint64_t          pinned;          /* Buckets, as the system counts them */
    bool              is_exposed;
    bool              is_withdrawing;
    bool              is_asked;        /* Whether a recall is on its way */
    bool              is_dead;
    bool              knows[FH_NODES]; /* Whose death it has noticed */
};

/* What was pinned. A handle's number is new each time */
struct fh_handle_t {
    bool            is_pinned;
    uint64_t        number;
    unsigned        node;
    ucp_fh_bucket_t bucket;
};

struct fh_world_t {
    fh_params_t  params;
    unsigned     num_threads;
    unsigned     withdraws;  /* Left */
    unsigned     tries;      /* Left */
    uint64_t     next_number;
    int64_t      num_keys;   /* That nodes have, and were not destroyed */
    uint64_t     num_ok;     /* Uses that were granted, in all */
    uint64_t     num_errors; /* Uses that were not */
    uint64_t     num_pinned_ever;
    const char   *error;     /* What has gone wrong, if anything has */
    fh_handle_t  handles[FH_HANDLES];
    fh_node_t    nodes[FH_NODES];
    fh_thread_t  threads[FH_THREADS];
    fh_message_t messages[FH_MESSAGES];
};

/* The world that is stepped; functions that the tables call find it */
extern fh_world_t *fh_world;

/* Make a world; false if the tables refuse it */
bool fh_make(const fh_params_t &params);
void fh_cleanup();

/* Whether a node has still to give memory of node 1 back */
bool fh_is_recalling(const fh_node_t &node);

/* All steps that can be taken now; no kills */
std::vector<fh_step_t> fh_steps();
void fh_take(const fh_step_t &step);
std::string fh_text(const fh_step_t &step);

/* What is wrong in this state; empty: nothing */
std::string fh_check();
/* The same, for a state in which nothing can be done any more */
std::string fh_check_end();
/* All that decides what can happen from now on */
void fh_append_state(std::vector<uint8_t> &state);

#endif
