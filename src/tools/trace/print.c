/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_int.h"

#include <inttypes.h>
#include <string.h>

#define PRINT_NSEC_PER_SEC 1000000000ul

/* Characters of strings without quotation marks. '#' would begin a comment,
 * and shells have uses of their own for ';' and '&'. */
#define PRINT_PLAIN \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" \
    "_-+./:,@%="


static void print_time(uint64_t time, FILE *stream)
{
    fprintf(stream, "%" PRIu64 ".%09" PRIu64, time / PRINT_NSEC_PER_SEC,
            time % PRINT_NSEC_PER_SEC);
}

static void print_string(const char *string, FILE *stream)
{
    const char *p;

    fputc(' ', stream);
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

    for (i = 0; i < field->num_names; ++i) {
        if (set & (1ul << i)) {
            fprintf(stream, "%s%s", separator, field->names[i]);
            separator = ",";
        }
    }
}

static void print_value(const trace_field_t *field, uint64_t value,
                        FILE *stream)
{
    switch (field->style) {
    case TRACE_NUMBER:
        fprintf(stream, "%" PRIu64, value);
        break;
    case TRACE_HEX:
        fprintf(stream, "0x%" PRIx64, value);
        break;
    case TRACE_TIME:
        print_time(value, stream);
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
    }
}

/* Fields with value 0 are left out: for a reader, missing fields are 0. The
 * id, the first field, is always printed: without it a reader would give the
 * event another id. */
static void print_fields(const ucs_rcache_pred_event_t *event, unsigned has,
                         FILE *stream)
{
    const trace_field_t *field;
    uint64_t value;
    unsigned i;

    for (i = 0; i < TRACE_NUM_FIELDS; ++i) {
        field = &trace_fields[i];
        value = trace_field_get(field, event);
        if ((field->part & has) && ((value != 0) || (i == 0))) {
            fprintf(stream, " %s=", field->name);
            print_value(field, value, stream);
        }
    }
}

static void print_event(const ucs_rcache_pred_event_t *event, FILE *stream)
{
    const trace_type_t *type = &trace_types[event->type];

    fprintf(stream, "%s ", type->name);
    print_time(event->time, stream);
    if (type->has & TRACE_HAS_RANGE) {
        fprintf(stream, " 0x%" PRIx64 " %" PRIu64, event->address,
                event->length);
    }
    print_fields(event, type->has, stream);
    fputc('\n', stream);
}

static void print_site(const ucs_rcache_trace_site_t *site, FILE *stream)
{
    unsigned i;

    fprintf(stream, "site 0x%" PRIx64 " 0x%" PRIx64, site->caller, site->stack);
    for (i = 0; i < site->num_frames; ++i) {
        fprintf(stream, " 0x%" PRIx64, site->frames[i]);
    }
    fputc('\n', stream);
}

static void print_module(const ucs_rcache_trace_module_t *module, FILE *stream)
{
    unsigned i;

    fprintf(stream, "module 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64,
            module->start, module->end, module->bias);
    print_string(module->path, stream);
    for (i = 0; i < module->build_id_length; ++i) {
        fprintf(stream, "%s%02x", (i == 0) ? " " : "", module->build_id[i]);
    }
    fputc('\n', stream);
}

static void print_sends(const ucs_reuse_sends_t *sends, FILE *stream)
{
    fprintf(stream, "sends 0x%" PRIx64 " %" PRIu64 " %" PRIu64, sends->address,
            sends->length, sends->count);
    if (sends->copied > 0) {
        fprintf(stream, " %" PRIu64, sends->copied);
    }
    fputc('\n', stream);
}

/* Print the properties of the run, before the events. */
static void print_head(const ucs_rcache_trace_t *trace, FILE *stream)
{
    unsigned i;

    fprintf(stream, "%s%u\n", TRACE_TEXT_HEADER, UCS_RCACHE_TRACE_VERSION);
    for (i = 0; i < trace->num_meta; ++i) {
        fputs("meta", stream);
        print_string(trace->meta[i].key, stream);
        print_string(trace->meta[i].value, stream);
        fputc('\n', stream);
    }
    for (i = 0; i < trace->num_domains; ++i) {
        fprintf(stream, "domain %u", i);
        print_string(trace->domains[i], stream);
        fputc('\n', stream);
    }
    for (i = 0; i < trace->num_modules; ++i) {
        print_module(&trace->modules[i], stream);
    }
    for (i = 0; i < trace->num_sites; ++i) {
        print_site(&trace->sites[i], stream);
    }
}

/* Print the counters at the end of the run, after the events. */
static void print_tail(const ucs_rcache_trace_t *trace, FILE *stream)
{
    size_t i;

    if (trace->lost > 0) {
        fprintf(stream, "lost %" PRIu64 "\n", trace->lost);
    }
    for (i = 0; i < trace->num_sends; ++i) {
        print_sends(&trace->sends[i], stream);
    }
    for (i = 0; i < trace->num_counters; ++i) {
        fputs("counter", stream);
        print_string(trace->counters[i].name, stream);
        fprintf(stream, " %" PRIu64 "\n", trace->counters[i].value);
    }
    if (trace->truncated) {
        fputs("truncated\n", stream);
    }
}

ucs_status_t ucs_rcache_trace_print(const ucs_rcache_trace_t *trace,
                                    FILE *stream)
{
    size_t i;

    print_head(trace, stream);
    for (i = 0; i < trace->num_events; ++i) {
        print_event(&trace->events[i], stream);
    }
    print_tail(trace, stream);

    return (fflush(stream) || ferror(stream)) ? UCS_ERR_IO_ERROR : UCS_OK;
}
