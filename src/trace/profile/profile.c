/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "profile.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER      "ucx_predreg profile"

/* A row has at most 7 numbers of 20 digits and three words */
#define MAX_LINE    256

/* The room for rows is doubled from here on */
#define FIRST_ROWS  64

/* Longest interval that a row may have, ns. No trace that a replay accepts is longer
 * (docs/trace-format.md), and sums of some intervals fit into 64 bits */
#define MAX_INTERVAL (UINT64_MAX / 4)


void ucs_rcache_profile_init(ucs_rcache_profile_t *profile)
{
    profile->rows     = NULL;
    profile->num_rows = 0;
}

void ucs_rcache_profile_free(ucs_rcache_profile_t *profile)
{
    free(profile->rows);
    ucs_rcache_profile_init(profile);
}

/* Whether there is no room for one more: there is room for a power of 2 */
static int is_full(const ucs_rcache_profile_t *profile)
{
    size_t num = profile->num_rows;

    return (num == 0) || ((num >= FIRST_ROWS) && ((num & (num - 1)) == 0));
}

ucs_status_t ucs_rcache_profile_add(ucs_rcache_profile_t *profile,
                                    const ucs_rcache_profile_row_t *row)
{
    ucs_rcache_profile_row_t *rows;

    if (profile->num_rows == UCS_RCACHE_PROFILE_MAX_ROWS) {
        return UCS_ERR_EXCEEDS_LIMIT;
    }

    if (is_full(profile)) {
        rows = realloc(profile->rows,
                       ucs_max(2 * profile->num_rows, FIRST_ROWS) *
                               sizeof(*rows));
        if (rows == NULL) {
            return UCS_ERR_NO_MEMORY;
        }
        profile->rows = rows;
    }

    profile->rows[profile->num_rows++] = *row;
    return UCS_OK;
}

static int compare(const void *a, const void *b)
{
    const ucs_rcache_profile_row_t *row   = a;
    const ucs_rcache_profile_row_t *other = b;

    if (row->name != other->name) {
        return (row->name < other->name) ? -1 : 1;
    }
    return (row->length > other->length) - (row->length < other->length);
}

ucs_status_t ucs_rcache_profile_sort(ucs_rcache_profile_t *profile)
{
    size_t i;

    if (profile->num_rows == 0) {
        return UCS_OK;
    }

    qsort(profile->rows, profile->num_rows, sizeof(*profile->rows), compare);
    for (i = 1; i < profile->num_rows; ++i) {
        if (compare(&profile->rows[i - 1], &profile->rows[i]) == 0) {
            return UCS_ERR_ALREADY_EXISTS;
        }
    }
    return UCS_OK;
}

const ucs_rcache_profile_row_t *
ucs_rcache_profile_find(const ucs_rcache_profile_t *profile, uint64_t name,
                        uint64_t length)
{
    const ucs_rcache_profile_row_t key = {.name = name, .length = length};

    return (profile->num_rows == 0) ?
           NULL : bsearch(&key, profile->rows, profile->num_rows, sizeof(key),
                          compare);
}

unsigned ucs_rcache_profile_ask(const ucs_rcache_profile_t *profile,
                                uint64_t name, uint64_t length,
                                ucs_rcache_pred_time_t *intervals)
{
    const ucs_rcache_profile_row_t *row;

    row = ucs_rcache_profile_find(profile, name, length);
    if (row == NULL) {
        return 0;
    }

    memcpy(intervals, row->intervals,
           row->num_intervals * sizeof(*intervals));
    return row->num_intervals;
}

/* Read a number. @return the end of it; NULL if there is none of 64 bits */
static const char *parse_number(const char *text, int base, uint64_t *value)
{
    char *end;

    if (!isxdigit((unsigned char)*text)) {
        return NULL; /* Such as a sign */
    }

    errno  = 0;
    *value = strtoull(text, &end, base);
    return ((errno == 0) && (end != text)) ? end : NULL;
}

/* Read a word and the number after it. @param text  NULL: what was before it is
 * wrong. @return as above */
static const char *
parse_field(const char *text, const char *word, int base, uint64_t *value)
{
    size_t length = strlen(word);

    return ((text != NULL) && (strncmp(text, word, length) == 0)) ?
                   parse_number(text + length, base, value) : NULL;
}

/* Read the numbers of a row: its intervals are what is left of the line.
 * @return whether it is one */
static int parse_row(const char *line, ucs_rcache_profile_row_t *row)
{
    const char *next = line;
    uint64_t interval;

    next = parse_field(next, "place ", 16, &row->name);
    next = parse_field(next, " length ", 10, &row->length);
    next = parse_field(next, " uses ", 10, &row->uses);
    next = parse_field(next, " intervals ", 10, &interval);
    for (row->num_intervals = 0; next != NULL;
         next = parse_field(next, " ", 10, &interval)) {
        if ((row->length == 0) || (interval == 0) || (interval > MAX_INTERVAL) ||
            (row->num_intervals == UCS_RCACHE_PRED_MAX_PRIOR)) {
            return 0;
        }

        row->intervals[row->num_intervals++] = interval;
        if (*next == '\0') {
            return 1;
        }
    }
    return 0;
}

/* The next line without its end, or its beginning if it is longer than a row.
 * @param [out] is_whole_p  Whether it had an end: one that has none may have been cut in
 *                          a number. @return NULL at the end of the file */
static char *next_line(FILE *stream, char *line, int *is_whole_p)
{
    int c;

    if (fgets(line, MAX_LINE, stream) == NULL) {
        return NULL;
    }

    *is_whole_p = (strchr(line, '\n') != NULL);
    if (!*is_whole_p) {
        do {
            c = getc(stream);
        } while ((c != '\n') && (c != EOF));
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static ucs_status_t
load_rows(FILE *stream, const char *path, ucs_rcache_profile_t *profile)
{
    size_t number = 1;
    ucs_rcache_profile_row_t row;
    ucs_status_t status;
    char line[MAX_LINE];
    int is_whole;

    while (next_line(stream, line, &is_whole) != NULL) {
        ++number;
        if ((line[0] == '#') || (line[0] == '\0')) {
            continue;
        }

        if (!is_whole || !parse_row(line, &row)) {
            ucs_error("%s:%zu: '%s' is no row of a profile: expected 'place "
                      "HEX length BYTES uses N intervals NS' with 1 to %d "
                      "intervals, and the end of the line", path, number, line,
                      UCS_RCACHE_PRED_MAX_PRIOR);
            return UCS_ERR_INVALID_PARAM;
        }

        status = ucs_rcache_profile_add(profile, &row);
        if (status != UCS_OK) {
            ucs_error("%s:%zu: %s: accepted are %u rows", path, number,
                      ucs_status_string(status), UCS_RCACHE_PROFILE_MAX_ROWS);
            return status;
        }
    }

    if (ferror(stream)) {
        ucs_error("%s: cannot be read: %m", path);
        return UCS_ERR_IO_ERROR;
    }

    if (ucs_rcache_profile_sort(profile) != UCS_OK) {
        ucs_error("%s: two rows are of the same place and length", path);
        return UCS_ERR_INVALID_PARAM;
    }
    return UCS_OK;
}

/* Open a profile. A program that starts must not wait for the other end of a
 * pipe, nor read a device that does not end: only files are accepted.
 * @return NULL if it is none, which is logged. */
static FILE *open_file(const char *path)
{
    FILE *stream;
    struct stat st;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if ((fd < 0) || (fstat(fd, &st) != 0)) {
        goto err;
    }

    if (!S_ISREG(st.st_mode)) {
        ucs_error("%s: is no regular file", path);
        goto err_close;
    }

    stream = fdopen(fd, "r");
    if (stream != NULL) {
        return stream;
    }

err:
    ucs_error("%s: cannot be read: %m", path);
err_close:
    if (fd >= 0) {
        close(fd);
    }
    return NULL;
}

ucs_status_t ucs_rcache_profile_load(const char *path,
                                     ucs_rcache_profile_t *profile)
{
    unsigned version = 0;
    ucs_status_t status;
    char line[MAX_LINE];
    FILE *stream;
    int is_whole;

    ucs_rcache_profile_init(profile);
    stream = open_file(path);
    if (stream == NULL) {
        return UCS_ERR_IO_ERROR;
    }

    if ((next_line(stream, line, &is_whole) == NULL) || !is_whole ||
        (sscanf(line, HEADER " %u", &version) != 1) ||
        (version != UCS_RCACHE_PROFILE_VERSION)) {
        ucs_error("%s: is no profile: expected '" HEADER " %u' as its first "
                  "line", path, UCS_RCACHE_PROFILE_VERSION);
        status = UCS_ERR_INVALID_PARAM;
        goto out;
    }

    status = load_rows(stream, path, profile);
    if (status != UCS_OK) {
        ucs_rcache_profile_free(profile);
    }
out:
    fclose(stream);
    return status;
}

ucs_status_t ucs_rcache_profile_write(const ucs_rcache_profile_t *profile,
                                      FILE *stream)
{
    const ucs_rcache_profile_row_t *row;
    unsigned i;

    fprintf(stream, HEADER " %u\n", UCS_RCACHE_PROFILE_VERSION);
    for (row = profile->rows; row < profile->rows + profile->num_rows; ++row) {
        fprintf(stream, "place %016" PRIx64 " length %" PRIu64 " uses %" PRIu64
                " intervals", row->name, row->length, row->uses);
        for (i = 0; i < row->num_intervals; ++i) {
            fprintf(stream, " %" PRIu64, row->intervals[i]);
        }
        fprintf(stream, "\n");
    }
    return ferror(stream) ? UCS_ERR_IO_ERROR : UCS_OK;
}
