/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fuzz_trace.h"

#include <trace/format.h>

#include <ucs/debug/log_def.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* One of so many binary traces is changed as it is, packed and with checksums,
 * so that wrong ones are tried as well */
#define FUZZ_UNSEALED    8

/* Longest records that are changed, bytes */
#define FUZZ_MAX_RECORDS 65536


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

/* Make the checksum of the head right, since no fuzzer guesses it, and change the
 * records unpacked, since hardly any change of packed ones leaves anything to
 * read. @return the new size of the file */
static size_t fuzz_mutate_records(uint8_t *data, size_t size, size_t max_size)
{
    static uint8_t records[FUZZ_MAX_RECORDS];
    trace_head_t head;
    z_stream zlib = {NULL};
    size_t start, changed;
    uLongf packed;

    memcpy(&head, data, sizeof(head));
    head.size = ((size_t)head.size > size - sizeof(head)) ? 0 : head.size;
    head.crc  = crc32(0, (const void*)&head, offsetof(trace_head_t, crc));
    head.crc  = crc32(head.crc, data + sizeof(head), head.size);
    memcpy(data, &head, sizeof(head));
    start = sizeof(head) + head.size;

    zlib.next_in   = data + start;
    zlib.avail_in  = size - start;
    zlib.next_out  = records;
    zlib.avail_out = sizeof(records);
    if (inflateInit(&zlib) != Z_OK) {
        abort();
    }
    inflate(&zlib, Z_FINISH);
    changed = LLVMFuzzerMutate(records, zlib.next_out - records,
                               sizeof(records));
    inflateEnd(&zlib);

    packed = max_size - start;
    return (compress2(data + start, &packed, records, changed, 1) == Z_OK) ?
           start + packed : size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
                               unsigned seed)
{
    if ((size < sizeof(trace_head_t)) ||
        (memcmp(data, TRACE_MAGIC, TRACE_MAGIC_SIZE) != 0) ||
        (seed % FUZZ_UNSEALED == 0)) {
        return LLVMFuzzerMutate(data, size, max_size);
    }

    return fuzz_mutate_records(data, size, max_size);
}
