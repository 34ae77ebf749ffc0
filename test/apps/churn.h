/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * Buffers whose memory comes and goes between uses in all the ways a program
 * can bring that about. A cache of registrations that misses one of them sends
 * or receives in pages that are no longer the buffer.
 */

#ifndef TEST_APPS_CHURN_H_
#define TEST_APPS_CHURN_H_

#include <stddef.h>
#include <stdint.h>

/* Bytes around each buffer, which show what was written beside it. */
#define CHURN_GUARD 64


typedef enum {
    CHURN_KEEP,      /* nothing; the buffer is used again */
    CHURN_REALLOC,   /* freed, and allocated again */
    CHURN_SAME_ADDR, /* unmapped, and mapped again at the same address */
    CHURN_REPLACE,   /* another mapping put over it at once */
    CHURN_TAIL,      /* the tail unmapped, and mapped again */
    CHURN_MOVE,      /* moved elsewhere by mremap */
    CHURN_MOVE_AWAY, /* moved elsewhere, and its address mapped anew */
    CHURN_RESIZE,    /* cut and extended by mremap */
    CHURN_DONTNEED,  /* pages given back, the mapping stays */
    CHURN_LAST
} churn_kind_t;

extern const char *const churn_names[CHURN_LAST];

typedef struct {
    char   *base;
    size_t length;
    int    mapped; /* by mmap, or else by malloc */
    int    in_use;
} churn_slot_t;

/* If set, memory is changed by system calls that memory hooks do not see. No
 * cache of registrations can be right then, and a test has to notice. */
extern int churn_hidden;

/* Not 0: memory is moved by mremap() as well, of which the memory hooks tell. Else
 * it is moved by a system call that they do not see. */
extern int churn_seen_moves;

/* Not 0: memory is not moved to an address at all. */
extern int churn_no_moves;

/* Returns "size" bytes somewhere in the slot, after its memory was changed in a
 * random way, which is counted. The contents are arbitrary. Ends the program if
 * there is no memory. */
void *churn_get(churn_slot_t *slot, size_t size, uint64_t *rng,
                uint64_t counts[CHURN_LAST]);

/* Free the memory of the slot; its next use allocates memory. */
void churn_release(churn_slot_t *slot);

/* Guards are written before the buffer is received in; a check returns the
 * number of their bytes that have changed. */
void churn_guard(void *ptr, size_t size);
size_t churn_check_guard(const void *ptr, size_t size);

#endif
