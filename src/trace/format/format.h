/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_TRACE_FORMAT_H_
#define UCS_RCACHE_TRACE_FORMAT_H_

#include <ucs/sys/compiler_def.h>

#include <stdint.h>

BEGIN_C_DECLS

/** @file format.h
 *
 * The binary form, as docs/trace-format.md describes it: what its writer and
 * its reader have in common. Uses UCS only. Numbers are little-endian.
 */

/** A file starts with these bytes; 4 more are its version. */
#define TRACE_MAGIC      "\x89predreg"
#define TRACE_MAGIC_SIZE 8
#define TRACE_HEAD_SIZE  12


/** The rest of a file are chunks. Each has a head, 4 numbers of 4 bytes that
 *  are found at these offsets, and after it its records. */
enum {
    TRACE_CHUNK_MAGIC   = 0,  /**< @ref TRACE_CHUNK_TAG */
    TRACE_CHUNK_LENGTH  = 4,  /**< Length of the records, bytes */
    TRACE_CHUNK_RECORDS = 8,  /**< Number of records */
    TRACE_CHUNK_CRC     = 12, /**< CRC-32 of the head up to here and of the
                                   records */
    TRACE_CHUNK_HEAD    = 16  /**< Size of the head */
};

#define TRACE_CHUNK_TAG        0x4b4e4843u /* "CHNK" */
#define TRACE_CHUNK_MAX_LENGTH 65536u


/** A record starts with a byte that says what it is. The byte of an event is
 *  its ucs_rcache_pred_event_type_t plus 1. */
enum {
    TRACE_RECORD_EVENT     = 1,
    TRACE_RECORD_META      = 16,
    TRACE_RECORD_DOMAIN    = 17,
    TRACE_RECORD_SITE      = 18,
    TRACE_RECORD_MODULE    = 19,
    TRACE_RECORD_COUNTER   = 20,
    TRACE_RECORD_LOST      = 21,
    TRACE_RECORD_TRUNCATED = 22,
    TRACE_RECORD_SENDS     = 23
};


/** What an event is about: a region, and the memory it has. */
typedef struct trace_subject {
    uint64_t id;
    uint64_t address;
    uint64_t length;
    uint16_t domain;
} trace_subject_t;

/** How a use is made: from which place in the program, and of what kind. */
typedef struct trace_manner {
    uint64_t caller;
    uint64_t stack;
    uint64_t window;
    uint32_t flags;
    uint8_t  kind;
} trace_manner_t;


/** A chunk remembers at most this many subjects and as many manners; a power of
 *  2. A further one replaces the oldest one. */
#define TRACE_KNOWN 256

/**
 * What a record may refer to instead of repeating it: subjects and manners of
 * the records before it in the same chunk. After the same records, the reader
 * has the same as the writer had.
 */
typedef struct trace_known {
    uint64_t        time;         /**< Time of the last event */
    unsigned        num_subjects; /**< Described in this chunk so far */
    unsigned        num_manners;
    trace_subject_t subjects[TRACE_KNOWN];
    trace_manner_t  manners[TRACE_KNOWN];
} trace_known_t;


/** Forget everything, at the beginning of a chunk. */
static inline void trace_known_reset(trace_known_t *known)
{
    static const trace_subject_t no_subject = { 0 };
    static const trace_manner_t no_manner   = { 0 };

    known->time         = 0;
    known->num_subjects = 0;
    known->num_manners  = 0;

    /* The first subject and the first manner of the chunk are written as their
     * differences to the one before, which is looked for here. */
    known->subjects[TRACE_KNOWN - 1] = no_subject;
    known->manners[TRACE_KNOWN - 1]  = no_manner;
}

/** @return where the nth subject or manner of the chunk, counted from 0, is
 *          remembered. For -1, a place where all numbers are 0. */
static inline unsigned trace_known_slot(unsigned nth)
{
    return nth % TRACE_KNOWN;
}

/** @return how many subjects or manners are still remembered after so many were
 *          described. */
static inline unsigned trace_known_count(unsigned num)
{
    return (num < TRACE_KNOWN) ? num : TRACE_KNOWN;
}

/** Read a number of 4 bytes, of which the lowest comes first. */
static inline uint32_t trace_get_u32(const uint8_t *p)
{
    return p[0] | (p[1] << 8) | (p[2] << 16) | ((uint32_t)p[3] << 24);
}

/** Write a number as 4 bytes, of which the lowest comes first. */
static inline void trace_put_u32(uint8_t *p, uint32_t value)
{
    unsigned i;

    for (i = 0; i < 4; ++i) {
        p[i] = value >> (8 * i);
    }
}

/** The difference of two numbers as a number that is small if the difference
 *  is, whatever its sign: 0, -1, 1, -2, 2 ... become 0, 1, 2, 3, 4 ...
 *  Differences are modulo 2^64, so that any two numbers have one. */
static inline uint64_t trace_fold(uint64_t value, uint64_t base)
{
    uint64_t diff = value - base;

    return (diff << 1) ^ -(diff >> 63);
}

/** @return the value of which @ref trace_fold has made @a folded. */
static inline uint64_t trace_unfold(uint64_t folded, uint64_t base)
{
    return base + ((folded >> 1) ^ -(folded & 1));
}

END_C_DECLS

#endif
