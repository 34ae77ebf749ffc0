/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fuzz_trace.h"

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>
#include <trace/format/format.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of so many changed traces, one keeps its wrong checksums */
#define FUZZ_UNSEALED 8


size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static ucs_log_func_rc_t
fuzz_no_log(const char *file, unsigned line, const char *function,
            ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
            const char *message, va_list ap)
{
    return UCS_LOG_FUNC_RC_STOP;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    ucs_log_push_handler(fuzz_no_log);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *error;
    int parsed;

    error = fuzz_trace(data, size, &parsed);
    if (error != NULL) {
        fprintf(stderr, "%s\n", error);
        abort();
    }

    return 0;
}

static uint32_t fuzz_get_u32(const uint8_t *p)
{
    return p[0] | (p[1] << 8) | (p[2] << 16) | ((uint32_t)p[3] << 24);
}

static void fuzz_put_u32(uint8_t *p, uint32_t value)
{
    unsigned i;

    for (i = 0; i < 4; ++i) {
        p[i] = value >> (8 * i);
    }
}

/* Make the checksums right: no fuzzer guesses them. A chunk that claims to be
 * longer than the file ends with it, in half of the cases. */
static void fuzz_seal(uint8_t *data, size_t size, unsigned seed)
{
    size_t pos = TRACE_HEAD_SIZE;
    uint32_t length, crc;
    uint8_t *chunk;

    while (pos + TRACE_CHUNK_HEAD <= size) {
        chunk  = data + pos;
        pos   += TRACE_CHUNK_HEAD;
        length = fuzz_get_u32(chunk + TRACE_CHUNK_LENGTH);
        if (length > size - pos) {
            if (seed & 1) {
                return;
            }
            length = size - pos;
            fuzz_put_u32(chunk + TRACE_CHUNK_LENGTH, length);
        }

        crc = ucs_crc32(0, chunk, TRACE_CHUNK_CRC);
        crc = ucs_crc32(crc, data + pos, length);
        fuzz_put_u32(chunk + TRACE_CHUNK_CRC, crc);
        pos += length;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if ((size > TRACE_HEAD_SIZE) &&
        (memcmp(data, TRACE_MAGIC, TRACE_MAGIC_SIZE) ==
         0) && (seed % FUZZ_UNSEALED != 0)) {
        fuzz_seal(data, size, seed / FUZZ_UNSEALED);
    }

    return size;
}
