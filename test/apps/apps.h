/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 *
 * What the MPI programs here have in common: a clock, random numbers that are
 * the same everywhere, and contents of messages that can be checked.
 */

#ifndef TEST_APPS_H_
#define TEST_APPS_H_

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Wrong bytes are reported one by one up to here, then only counted. */
#define APP_MAX_REPORTS 8


static inline double app_time(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + (ts.tv_nsec * 1e-9);
}

static inline void __attribute__((format(printf, 1, 2), noreturn))
app_fatal(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    /* mpirun ends the other ranks when one ends without MPI_Finalize */
    exit(2);
}

/* Map memory of its own, filled with zeros. With is_huge it begins at a huge page of 2 MiB,
 * and the kernel is asked for such pages. */
static inline void *app_map(const char *program, size_t size, int is_huge)
{
    size_t more   = is_huge ? (2ul << 20) : 0;
    uint8_t *base = mmap(NULL, size + more, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (base == MAP_FAILED) {
        app_fatal("%s: could not map %zu bytes: %s", program, size, strerror(errno));
    }

    if (is_huge) {
        base += -(uintptr_t)base % more;
        (void)madvise(base, size, MADV_HUGEPAGE);
    }
    return base;
}

/* splitmix64 */
static inline uint64_t app_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline uint64_t app_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    return app_mix(*state);
}

/* @return a random number from 0 to n - 1. */
static inline uint64_t app_random_below(uint64_t *state, uint64_t n)
{
    return app_random(state) % n;
}

/* Eight bytes of the contents of message "key". This is cheap, since an
 * emulated processor computes it for every byte that is sent and received. */
static inline uint64_t app_pattern_word(uint64_t key, uint64_t index)
{
    uint64_t x = (key + index) * 0x9e3779b97f4a7c15ull;

    return x ^ (x >> 32);
}

static inline uint8_t app_pattern_byte(uint64_t key, uint64_t offset)
{
    return app_pattern_word(key, offset / 8) >> (8 * (offset % 8));
}

/* Write the bytes from "offset" to "offset + length" of message "key". */
static inline void app_pattern_fill(void *buffer, size_t length, uint64_t key,
                                    uint64_t offset)
{
    uint8_t *p = buffer;
    size_t i   = 0;
    uint64_t word;

    for (; (i < length) && (((offset + i) % 8) != 0); ++i) {
        p[i] = app_pattern_byte(key, offset + i);
    }

    for (; (i + 8) <= length; i += 8) {
        word = app_pattern_word(key, (offset + i) / 8);
        memcpy(&p[i], &word, sizeof(word));
    }

    for (; i < length; ++i) {
        p[i] = app_pattern_byte(key, offset + i);
    }
}

/* @return the number of bytes that differ, and the first of them. */
static inline size_t app_pattern_check(const void *buffer, size_t length,
                                       uint64_t key, uint64_t offset,
                                       size_t *first_p)
{
    const uint8_t *p = buffer;
    size_t errors    = 0;
    size_t i         = 0;
    uint64_t word;

    while (i < length) {
        if ((((offset + i) % 8) == 0) && ((i + 8) <= length)) {
            memcpy(&word, &p[i], sizeof(word));
            if (word == app_pattern_word(key, (offset + i) / 8)) {
                i += 8;
                continue;
            }
        }

        if (p[i] != app_pattern_byte(key, offset + i)) {
            if (errors++ == 0) {
                *first_p = i;
            }
        }
        ++i;
    }

    return errors;
}

#endif
