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
 * its reader have in common. Numbers are little-endian.
 */

/** A file starts with these bytes, and its version as 4 more. */
#define TRACE_MAGIC      "\x89predreg"
#define TRACE_MAGIC_SIZE 8
#define TRACE_HEAD_SIZE  12


/** Then come chunks. Each has a head of 4 numbers of 4 bytes, and records. */
enum {
    TRACE_CHUNK_MAGIC   = 0,  /**< Where they are in the head */
    TRACE_CHUNK_LENGTH  = 4,  /**< Of the records, bytes */
    TRACE_CHUNK_RECORDS = 8,  /**< Their number */
    TRACE_CHUNK_CRC     = 12, /**< CRC-32 of the head up to here and of the
                                   records */
    TRACE_CHUNK_HEAD    = 16  /**< Size of the head */
};

#define TRACE_CHUNK_TAG        0x4b4e4843u /* "CHNK" */
#define TRACE_CHUNK_MAX_LENGTH 65536u


/** Records start with a byte that says what they are. Events have the number of
 *  ucs_rcache_pred_event_type_t plus 1. */
enum {
    TRACE_RECORD_EVENT     = 1,
    TRACE_RECORD_META      = 16,
    TRACE_RECORD_DOMAIN    = 17,
    TRACE_RECORD_SITE      = 18,
    TRACE_RECORD_MODULE    = 19,
    TRACE_RECORD_COUNTER   = 20,
    TRACE_RECORD_LOST      = 21,
    TRACE_RECORD_TRUNCATED = 22
};


/** What an event is about. */
typedef struct trace_subject {
    uint64_t id;
    uint64_t address;
    uint64_t length;
    uint16_t domain;
} trace_subject_t;

/** How a use is made. */
typedef struct trace_manner {
    uint64_t caller;
    uint64_t stack;
    uint64_t window;
    uint32_t flags;
    uint8_t  kind;
} trace_manner_t;


/** How many of each are remembered within a chunk; a power of 2. When there are
 *  more, the oldest one is replaced. */
#define TRACE_KNOWN 256

/**
 * What records may refer to: that which was in the records before in the same
 * chunk. Reader and writer have the same after the same records.
 */
typedef struct trace_known {
    uint64_t        time;         /**< Of the last event */
    unsigned        num_subjects; /**< There have been */
    unsigned        num_manners;
    trace_subject_t subjects[TRACE_KNOWN];
    trace_manner_t  manners[TRACE_KNOWN];
} trace_known_t;


static inline void trace_known_reset(trace_known_t *known)
{
    static const trace_subject_t no_subject = { 0 };
    static const trace_manner_t no_manner   = { 0 };

    known->time         = 0;
    known->num_subjects = 0;
    known->num_manners  = 0;

    /* Where the first ones look for the last one */
    known->subjects[TRACE_KNOWN - 1] = no_subject;
    known->manners[TRACE_KNOWN - 1]  = no_manner;
}

/** The place of the one that was the nth, from 0; -1: the one before the first,
 *  with all numbers 0. */
static inline unsigned trace_known_slot(unsigned nth)
{
    return nth % TRACE_KNOWN;
}

/** How many of so many are remembered. */
static inline unsigned trace_known_count(unsigned num)
{
    return (num < TRACE_KNOWN) ? num : TRACE_KNOWN;
}

/** Differences of either sign as small numbers: 0, -1, 1, -2, 2 ... are 0, 1,
 *  2, 3, 4 ... They are modulo 2^64, so that there is one between any two. */
static inline uint64_t trace_fold(uint64_t value, uint64_t base)
{
    uint64_t diff = value - base;

    return (diff << 1) ^ -(diff >> 63);
}

static inline uint64_t trace_unfold(uint64_t folded, uint64_t base)
{
    return base + ((folded >> 1) ^ -(folded & 1));
}

END_C_DECLS

#endif
