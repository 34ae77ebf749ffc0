/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Random puts and gets to one peer, in one of several ways.
 */

#ifndef TEST_APPS_FHPUTS_H_
#define TEST_APPS_FHPUTS_H_

#include "fhplain.h"

#define PUTS_MAX_WINDOW 32


/* A put or get, and its buffer. A scheme may look at all of it, and writes
 * what is said to be its own */
typedef struct {
    int              is_busy;
    size_t           offset;   /* In the memory of the peer */
    uint8_t          *buffer;
    ucs_status_ptr_t request;  /* Of the scheme */
    int              state;    /* Likewise */
} puts_slot_t;


typedef struct puts {
    fhjob_t     job;
    const struct puts_scheme *scheme;
    int         keep;      /* What a rendezvous has pinned stays so */
    int         gets;
    int         ops;
    int         warm;      /* Operations before those that are timed */
    int         window;    /* Operations under way */
    size_t      size;      /* Bytes of an operation */
    size_t      align;     /* Offsets are multiples of so many bytes */
    ucp_mem_h   memh;      /* Of all buffers of the slots */
    puts_slot_t slots[PUTS_MAX_WINDOW];
} puts_t;


/* A way to get data to and from a peer. The first process uses it, the
 * second one is the peer */
typedef struct puts_scheme {
    const char *name;
    int        libraries;
    void       (*open)(puts_t *puts);   /* Both processes */
    void       (*serve)(puts_t *puts);  /* The peer, until the other is ready */
    void       (*begin)(puts_t *puts, puts_slot_t *slot);
    int        (*has_ended)(puts_t *puts, puts_slot_t *slot);
    unsigned   (*progress)(puts_t *puts);
    void       (*flush)(puts_t *puts);
    void       (*end)(puts_t *puts);    /* The first process is ready */
    void       (*close)(puts_t *puts);  /* Both processes */
} puts_scheme_t;

extern const puts_scheme_t puts_rendezvous;

#endif
