/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <inttypes.h>
#include <string.h>

#define PRINT_NSEC_PER_SEC 1000000000ul

/* A string of only these characters is printed without quotation marks. '#' is missing
 * since it begins a comment, and ';' and '&' since shells have uses of their own for
 * both. */
#define PRINT_PLAIN \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
    "_-+./:,@%="


static void print_string(const char *string, FILE *stream)
{
    const char *p;

    if ((string[0] != '\0') && (strspn(string, PRINT_PLAIN) ==
                                strlen(string))) {
        fputs(string, stream);
        return;
    }

    fputc('"', stream);
    for (p = string; *p != '\0'; ++p) {
        if ((*p == '"') || (*p == '\\')) {
            fprintf(stream, "\\%c", *p);
        } else if (((unsigned char)*p < ' ') || (*p == 0x7f)) {
            fprintf(stream, "\\x%02x", (unsigned char)*p);
        } else {
            fputc(*p, stream);
        }
    }
    fputc('"', stream);
}

static void print_set(const trace_field_t *field, uint64_t set, FILE *stream)
{
    const char *separator = "";
    unsigned i;

    for (i = 0; i < field->max; ++i) {
        if (set & (1ul << i)) {
            fprintf(stream, "%s%s", separator, field->names[i]);
            separator = ",";
        }
    }
}

static void print_value(const trace_field_t *field, const void *record,
                        FILE *stream)
{
    const void *data = UCS_PTR_BYTE_OFFSET(record, field->offset);
    uint64_t value   = trace_field_get(field, record);
    unsigned i;

    switch (field->style) {
    case TRACE_NUMBER:
    case TRACE_SIZE:
        fprintf(stream, "%" PRIu64, value);
        break;
    case TRACE_HEX:
    case TRACE_ADDRESS:
        fprintf(stream, "0x%" PRIx64, value);
        break;
    case TRACE_TIME:
        fprintf(stream, "%" PRIu64 ".%09" PRIu64, value / PRINT_NSEC_PER_SEC,
                value % PRINT_NSEC_PER_SEC);
        break;
    case TRACE_SPAN:
        fprintf(stream, "%" PRIu64 "ns", value);
        break;
    case TRACE_NAME:
        fputs(field->names[value], stream);
        break;
    case TRACE_SET:
        print_set(field, value, stream);
        break;
    case TRACE_STRING:
        print_string(*(char *const*)data, stream);
        break;
    case TRACE_FRAMES:
        for (i = 0; i < *trace_field_count(field, record); ++i) {
            fprintf(stream, "%s0x%" PRIx64, (i == 0) ? "" : " ",
                    ((const uint64_t*)data)[i]);
        }
        break;
    case TRACE_BYTES:
        for (i = 0; i < *trace_field_count(field, record); ++i) {
            fprintf(stream, "%02x", ((const uint8_t*)data)[i]);
        }
        break;
    }
}

/* @return whether to leave out the field, since a reader takes the value of a missing
 *         field for the value that the field has. The id is never left out: a reader
 *         would give the event another id. */
static int is_left_out(const trace_field_t *field, const void *record)
{
    if ((field->style == TRACE_FRAMES) || (field->style == TRACE_BYTES)) {
        return *trace_field_count(field, record) == 0;
    }

    return ((field->form == TRACE_NAMED) || (field->form == TRACE_OPTIONAL)) &&
           (trace_field_get(field, record) == 0);
}

static void print_record(void *stream, unsigned type, const void *record)
{
    const trace_field_t *field;

    fputs(trace_types[type].name, stream);
    trace_for_each_field(field, &trace_types[type]) {
        if (is_left_out(field, record)) {
            continue;
        }

        fputc(' ', stream);
        if ((field->form == TRACE_NAMED) || (field->form == TRACE_ALWAYS)) {
            fprintf(stream, "%s=", field->name);
        }
        print_value(field, record, stream);
    }
    fputc('\n', stream);
}

ucs_status_t ucs_rcache_trace_print(const ucs_rcache_trace_t *trace,
                                    FILE *stream)
{
    fprintf(stream, "%s%u\n", TRACE_TEXT_HEADER, UCS_RCACHE_TRACE_VERSION);
    trace_for_each(trace, print_record, stream);
    return (fflush(stream) || ferror(stream)) ? UCS_ERR_IO_ERROR : UCS_OK;
}
