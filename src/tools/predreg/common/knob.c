/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob.h"
#include "message.h"

#include <uct/ib/predreg/core/knobs.h>

#include <ucs/datastruct/string_buffer.h>
#include <ucs/sys/math.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Names that are longer are similar to no knob */
#define MAX_NAME 63


/* What is looked for among the knobs, and found */
typedef struct {
    const char          *name;
    int                 is_known;
    unsigned            distance;   /* Of the nearest one */
    char                nearest[MAX_NAME + 1];
    ucs_string_buffer_t *all;       /* Names of all knobs */
} search_t;


char *predreg_knob_split(const char *arg, const char *example,
                         const char **value_p)
{
    const char *equals = strchr(arg, '=');
    const char *begin  = arg;
    char *name, *p;

    if (!strncmp(begin, PREDREG_KNOB_PREFIX, strlen(PREDREG_KNOB_PREFIX))) {
        begin += strlen(PREDREG_KNOB_PREFIX);
    }

    if ((equals == NULL) || (equals <= begin)) {
        predreg_error("--set: '%s'; accepted: KNOB=VALUE, as in %s", arg,
                      example);
        return NULL;
    }

    name = predreg_format("%.*s", (int)(equals - begin), begin);
    for (p = name; *p != '\0'; ++p) {
        *p = toupper((unsigned char)*p);
    }
    *value_p = equals + 1;
    return name;
}

/* @return how many letters have to be added, removed or replaced to make one
 * name of the other: the distance of Levenshtein. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[MAX_NAME + 1]; /* Distances of the first i letters of a to the
                                   first j letters of b, by j */
    unsigned above_left, above;
    size_t i, j;

    for (j = 0; j <= strlen(b); ++j) {
        row[j] = j;
    }

    for (i = 1; i <= strlen(a); ++i) {
        above_left = row[0];
        row[0]     = i;
        for (j = 1; j <= strlen(b); ++j) {
            above      = row[j];
            row[j]     = ucs_min(ucs_min(above, row[j - 1]) + 1,
                                 above_left + (a[i - 1] != b[j - 1]));
            above_left = above;
        }
    }

    return row[strlen(b)];
}

static void compare(void *arg, const char *name, const char *value)
{
    search_t *search = arg;
    unsigned change;

    search->is_known |= !strcmp(name, search->name);
    ucs_string_buffer_appendf(search->all, "%s%s",
                              (ucs_string_buffer_length(search->all) == 0) ?
                              "" : ", ", name);

    if ((strlen(name) > MAX_NAME) || (strlen(search->name) > MAX_NAME)) {
        return;
    }

    change = distance(search->name, name);
    if (change < search->distance) {
        search->distance = change;
        strcpy(search->nearest, name);
    }
}

/* Look for a name. A name that differs in more than a third of its letters is
 * not similar */
static void search_knobs(const uct_predreg_knobs_t *knobs, const char *name,
                         ucs_string_buffer_t *all, search_t *search)
{
    *search = (search_t){
        .name     = name,
        .distance = 2 + strlen(name) / 3,
        .all      = all
    };
    uct_predreg_knobs_for_each(knobs, compare, search);
}

static void get_defaults(uct_predreg_knobs_t *knobs)
{
    if (uct_predreg_knobs_default(knobs) != UCS_OK) {
        predreg_check_memory(NULL); /* They are defaults of its own table */
    }
}

char *predreg_knob_nearest(const char *name)
{
    UCS_STRING_BUFFER_ONSTACK(all, 1024);
    uct_predreg_knobs_t knobs;
    search_t search;

    get_defaults(&knobs);
    search_knobs(&knobs, name, &all, &search);
    uct_predreg_knobs_cleanup(&knobs);
    return (search.nearest[0] == '\0') ? NULL :
                                         predreg_format("%s", search.nearest);
}

int predreg_knob_check(const char *name, const char *value)
{
    UCS_STRING_BUFFER_ONSTACK(all, 1024);
    int ret = -1;
    uct_predreg_knobs_t knobs;
    search_t search;

    get_defaults(&knobs);
    search_knobs(&knobs, name, &all, &search);
    if (search.is_known) {
        ret = (uct_predreg_knobs_set(&knobs, name, value) == UCS_OK) ? 0 : -1;
    } else if (search.nearest[0] != '\0') {
        predreg_error("--set: there is no knob '%s', the nearest is %s; "
                      "accepted: %s", name, search.nearest,
                      ucs_string_buffer_cstr(&all));
    } else {
        predreg_error("--set: there is no knob '%s'; accepted: %s", name,
                      ucs_string_buffer_cstr(&all));
    }
    uct_predreg_knobs_cleanup(&knobs);
    return ret;
}

int predreg_knob_check_environment(void)
{
    uct_predreg_knobs_t knobs;
    ucs_status_t status;

    status = uct_predreg_knobs_read(&knobs);
    uct_predreg_knobs_cleanup(&knobs);
    return (status == UCS_OK) ? 0 : -1;
}
