/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob.h"
#include "message.h"

#include <ucs/base/strb.h>
#include <uct/ib/predreg/core/knobs.h>

#include <ucs/sys/math.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
 * name of the other: the distance of Levenshtein. Case is ignored. */
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
                                 above_left +
                                 (toupper((unsigned char)a[i - 1]) !=
                                  toupper((unsigned char)b[j - 1])));
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
    UCS_RCACHE_PRED_STRB(all, 1024);
    uct_predreg_knobs_t knobs;
    search_t search;

    get_defaults(&knobs);
    search_knobs(&knobs, name, &all, &search);
    uct_predreg_knobs_cleanup(&knobs);
    return (search.nearest[0] == '\0') ? NULL :
                                         predreg_format("%s", search.nearest);
}

/* Check that there is a knob of this name.
 * @param [in] source  Where the name is from, for the message.
 * @return 0, or -1 if not, and the reason has been printed. */
static int check_name(const uct_predreg_knobs_t *knobs, const char *source,
                      const char *name)
{
    UCS_RCACHE_PRED_STRB(all, 1024);
    search_t search;

    search_knobs(knobs, name, &all, &search);
    if (search.is_known) {
        return 0;
    }

    predreg_error("%s: there is no knob '%s'%s%s; accepted: %s", source, name,
                  (search.nearest[0] != '\0') ? ", the nearest is " : "",
                  search.nearest, ucs_string_buffer_cstr(&all));
    return -1;
}

/* Whether a former version had a knob of this name. What sets it has no effect, and
 * keeps no job from running. UCX warns of such a variable in each process */
static int is_gone(const char *name)
{
    static const char *names[] = {"PEERS", "PROFILE", "ARENA_REGISTER",
                                  "ARENA_SLAB", "ARENA_SLAB_MIN"};
    size_t i;

    for (i = 0; i < ucs_static_array_size(names); ++i) {
        if (!strcmp(name, names[i])) {
            return 1;
        }
    }

    return 0;
}

int predreg_knob_check(const char *name, const char *value)
{
    uct_predreg_knobs_t knobs;
    int ret;

    if (is_gone(name)) {
        predreg_error("--set: %s has no effect: there is no such knob any more",
                      name);
        return 0;
    }

    get_defaults(&knobs);
    ret = check_name(&knobs, "--set", name);
    if ((ret == 0) && (uct_predreg_knobs_set(&knobs, name, value) != UCS_OK)) {
        ret = -1;
    }
    uct_predreg_knobs_cleanup(&knobs);
    return ret;
}

/* Check a string of the environment, NAME=VALUE: if it is named like the knobs,
 * it has to be one */
static int check_variable(const uct_predreg_knobs_t *knobs, const char *string)
{
    const size_t length = strlen(PREDREG_KNOB_PREFIX);
    char *name;
    int ret;

    if (strncmp(string, PREDREG_KNOB_PREFIX, length)) {
        return 0;
    }

    name = predreg_format("%.*s", (int)strcspn(string, "="), string);
    ret  = is_gone(name + length) ? 0 :
           check_name(knobs, name, name + length);
    free(name);
    return ret;
}

int predreg_knob_check_environment(void)
{
    int ret = 0;
    uct_predreg_knobs_t knobs;
    char **var;

    if (uct_predreg_knobs_read(&knobs) != UCS_OK) {
        ret = -1;
    }

    for (var = environ; *var != NULL; ++var) {
        if (check_variable(&knobs, *var) != 0) {
            ret = -1;
        }
    }

    uct_predreg_knobs_cleanup(&knobs);
    return ret;
}
