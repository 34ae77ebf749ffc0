/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fuzz_trace.h"

#include <trace/format/format.h>

#include <ucs/algorithm/crc.h>
#include <ucs/debug/log_def.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of so many changed traces keeps its wrong checksums, so that these are
 * tried as well */
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

/* Make the checksums of the chunks right, since no fuzzer guesses them. In half
 * of the cases, a chunk that claims to be longer than the file is also given
 * the length that is left. */
static void fuzz_seal(uint8_t *data, size_t size, unsigned seed)
{
    size_t pos = TRACE_HEAD_SIZE;
    uint32_t length, crc;
    uint8_t *chunk;

    while (pos + TRACE_CHUNK_HEAD <= size) {
        chunk  = data + pos;
        pos   += TRACE_CHUNK_HEAD;
        length = trace_get_u32(chunk + TRACE_CHUNK_LENGTH);
        if (length > size - pos) {
            if (seed & 1) {
                return;
            }
            length = size - pos;
            trace_put_u32(chunk + TRACE_CHUNK_LENGTH, length);
        }

        crc = ucs_crc32(0, chunk, TRACE_CHUNK_CRC);
        crc = ucs_crc32(crc, data + pos, length);
        trace_put_u32(chunk + TRACE_CHUNK_CRC, crc);
        pos += length;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if ((size > TRACE_HEAD_SIZE) &&
        (memcmp(data, TRACE_MAGIC, TRACE_MAGIC_SIZE) == 0) &&
        (seed % FUZZ_UNSEALED != 0)) {
        fuzz_seal(data, size, seed / FUZZ_UNSEALED);
    }

    return size;
}
