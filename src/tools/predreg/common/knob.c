/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob.h"
#include "command.h"

#include <uct/ib/predreg/core/knobs.h>

#include <ucs/sys/math.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** @file knob.c
 *
 * Names and values of knobs are those of the library's own table, uct_predreg_knob_table:
 * a new knob needs no change here.
 */

/* Longer names are similar to no knob */
#define MAX_NAME 63


char *predreg_knob_split(const char *arg, const char **value_p)
{
    const char *equals = strchr(arg, '=');
    const char *begin  = arg;
    char *name, *p;

    if (!strncmp(begin, PREDREG_KNOB_PREFIX, strlen(PREDREG_KNOB_PREFIX))) {
        begin += strlen(PREDREG_KNOB_PREFIX);
    }

    if ((equals == NULL) || (equals <= begin)) {
        predreg_error("--set: '%s'; accepted: KNOB=VALUE, as in BUDGET=0.5", arg);
        return NULL;
    }

    name = predreg_format("%.*s", (int)(equals - begin), begin);
    for (p = name; *p != '\0'; ++p) {
        *p = toupper((unsigned char)*p);
    }
    *value_p = equals + 1;
    return name;
}

const char *const *predreg_knob_values(const char *name)
{
    const uct_predreg_knob_t *knob = uct_predreg_knob_table;

    while (strcmp(knob->field.name, name)) {
        ++knob;
    }
    return knob->names;
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

/* A known name is similar to @a name if at most a third of the letters of @a name, and one
 * more letter, have to be changed to make the known name */
const char *predreg_nearer(const char *name, const char *known, const char *nearest)
{
    return (strlen(name) <= MAX_NAME) &&
           (distance(name, known) < ((nearest == NULL) ? 2 + (strlen(name) / 3) :
                                                         distance(name, nearest))) ?
           known : nearest;
}

const char *predreg_knob_nearest(const char *name)
{
    const char *nearest = NULL;
    const uct_predreg_knob_t *knob;

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        nearest = predreg_nearer(name, knob->field.name, nearest);
    }

    return nearest;
}

/* Check that there is a knob of this name.
 * @param [in] source  Origin of the name, for the message.
 * @return 0 or the exit status; the reason has been printed. */
static int check_name(const char *source, const char *name)
{
    const char *nearest = predreg_knob_nearest(name);
    char *all           = predreg_format("%s", "");
    const uct_predreg_knob_t *knob;
    int ret = 0;

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        all = predreg_list(all, knob->field.name);
    }

    if ((nearest == NULL) || strcmp(nearest, name)) {
        ret = predreg_error("%s: there is no knob '%s'%s%s; accepted: %s", source, name,
                            (nearest != NULL) ? ", the nearest is " : "",
                            (nearest != NULL) ? nearest : "", all);
    }
    free(all);
    return ret;
}

/* Whether a former version had a knob of this name. To set such a knob is no error, and
 * has no effect; UCX warns of the variable in each process */
static int is_gone(const char *name)
{
    static const char *const names[] = {"PEERS", "PROFILE", "ARENA_REGISTER",
                                        "ARENA_SLAB", "ARENA_SLAB_MIN", NULL};

    return predreg_is_any(name, names, 0);
}

static int check_knob(const char *name, const char *value)
{
    uct_predreg_knobs_t knobs;
    int ret;

    if (is_gone(name)) {
        predreg_error("--set: %s has no effect: there is no such knob any more",
                      name);
        return 0;
    }

    ret = check_name("--set", name);
    if (ret != 0) {
        return ret;
    }

    if (uct_predreg_knobs_default(&knobs) != UCS_OK) {
        predreg_no_memory(); /* The default values are in the accepted ranges, so only
                                memory can be missing */
    }
    ret = (uct_predreg_knobs_set(&knobs, name, value) == UCS_OK) ? 0 : PREDREG_EXIT_USAGE;
    uct_predreg_knobs_cleanup(&knobs);
    return ret;
}

int predreg_knob_set_variable(const char *arg, int is_checked)
{
    const char *value;
    char *name, *variable;
    int ret;

    name = predreg_knob_split(arg, &value);
    if (name == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    ret = is_checked ? check_knob(name, value) : 0;
    if (ret == 0) {
        variable = predreg_format(PREDREG_KNOB_PREFIX "%s", name);
        predreg_set_variable(variable, value);
        free(variable);
    }
    free(name);
    return ret;
}

/* Check a string of the environment, NAME=VALUE: a name with the prefix has to be a
 * knob */
static int check_variable(const char *string)
{
    const size_t length = strlen(PREDREG_KNOB_PREFIX);
    char *name;
    int ret;

    if (strncmp(string, PREDREG_KNOB_PREFIX, length)) {
        return 0;
    }

    name = predreg_format("%.*s", (int)strcspn(string, "="), string);
    ret  = is_gone(name + length) ? 0 : check_name(name, name + length);
    free(name);
    return ret;
}

int predreg_knob_check_environment(void)
{
    uct_predreg_knobs_t knobs;
    char **var;
    int ret;

    ret = (uct_predreg_knobs_read(&knobs) == UCS_OK) ? 0 : PREDREG_EXIT_USAGE;
    uct_predreg_knobs_cleanup(&knobs);
    for (var = environ; *var != NULL; ++var) {
        ret |= check_variable(*var);
    }

    return ret;
}

char *predreg_knob_list_replayed(void)
{
    char *list = predreg_format("%s", "");
    const uct_predreg_knob_t *knob;

    for (knob = uct_predreg_knob_table; knob->field.name != NULL; ++knob) {
        if (knob->is_replayed) {
            list = predreg_list(list, knob->field.name);
        }
    }
    return list;
}

/* Print why a knob is not accepted, and a similar name */
static void refuse_knob(const char *name)
{
    const char *nearest = predreg_knob_nearest(name);
    char *list          = predreg_knob_list_replayed();

    if (!strcmp(name, "POLICY")) {
        predreg_error("--set: POLICY is said by --policy");
    } else if (!strcmp(name, "WINDOW") || !strcmp(name, "UNWIND")) {
        predreg_error("--set: %s is part of what was recorded: contexts are "
                      "made with it; to change it, record with --set %s=VALUE",
                      name, name);
    } else if (nearest == NULL) {
        predreg_error("--set: there is no knob '%s'; accepted in a replay: %s",
                      name, list);
    } else if (!strcmp(nearest, name)) {
        predreg_error("--set: '%s' changes nothing in a replay; accepted: %s",
                      name, list);
    } else {
        predreg_error("--set: there is no knob '%s', the nearest is %s; "
                      "accepted in a replay: %s", name, nearest, list);
    }
    free(list);
}

int predreg_knob_replay(const char *arg, uct_predreg_knobs_t *knobs)
{
    const uct_predreg_knob_t *knob = uct_predreg_knob_table;
    const char *value;
    int ret = PREDREG_EXIT_USAGE;
    char *name;

    name = predreg_knob_split(arg, &value);
    if (name == NULL) {
        return ret;
    }

    while ((knob->field.name != NULL) &&
           (!knob->is_replayed || strcmp(knob->field.name, name))) {
        ++knob;
    }

    if (knob->field.name == NULL) {
        refuse_knob(name);
    } else if (uct_predreg_knobs_set(knobs, name, value) == UCS_OK) {
        ret = 0;
    }
    free(name);
    return ret;
}
