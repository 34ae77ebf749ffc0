/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fuzz_trace.h"

#include <tools/trace/trace.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>


/* A trace in one of its forms */
typedef struct {
    char   *data;
    size_t size;
} form_t;


/* The two functions below end the program if the system has no memory, since
 * that is not what is tested. */

static form_t fuzz_print(const ucs_rcache_trace_t *trace)
{
    form_t form  = {NULL, 0};
    FILE *stream = open_memstream(&form.data, &form.size);

    if ((stream == NULL) ||
        (ucs_rcache_trace_print(trace, stream) != UCS_OK) ||
        (fclose(stream) != 0)) {
        abort();
    }

    return form;
}

static form_t fuzz_write(const ucs_rcache_trace_t *trace)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    form_t form;

    if ((fd < 0) || (ucs_rcache_trace_write(trace, fd) != UCS_OK)) {
        abort();
    }

    form.size = lseek(fd, 0, SEEK_END);
    form.data = malloc(form.size);
    if ((form.data == NULL) ||
        (pread(fd, form.data, form.size, 0) != (ssize_t)form.size)) {
        abort();
    }

    close(fd);
    return form;
}

/* Whether one form of a trace is parsed as the trace whose text form is given:
 * the two print the same. */
static int fuzz_is_same(const form_t *form, const form_t *text)
{
    ucs_rcache_trace_t *trace;
    form_t printed;
    int is_same;

    if (ucs_rcache_trace_parse("written", form->data, form->size, &trace) !=
        UCS_OK) {
        return 0;
    }

    printed = fuzz_print(trace);
    is_same = (printed.size == text->size) &&
              (memcmp(printed.data, text->data, text->size) == 0);
    free(printed.data);
    ucs_rcache_trace_free(trace);
    return is_same;
}

const char *fuzz_trace(const void *data, size_t size, int *parsed_p)
{
    const char *error = NULL;
    ucs_rcache_trace_t *trace;
    form_t text, binary;

    *parsed_p = 0;
    if (ucs_rcache_trace_parse("fuzz", data, size, &trace) != UCS_OK) {
        return NULL;
    }

    *parsed_p = 1;
    text      = fuzz_print(trace);
    binary    = fuzz_write(trace);
    ucs_rcache_trace_free(trace);

    if (!fuzz_is_same(&text, &text)) {
        error = "the text form is another trace";
    } else if (!fuzz_is_same(&binary, &text)) {
        error = "the binary form is another trace";
    }

    free(binary.data);
    free(text.data);
    return error;
}
