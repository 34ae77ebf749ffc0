/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "find.h"

#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>
#include <tools/predreg/run/find_library.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


/* Where standard error is while it is being collected. This program has one
 * thread */
typedef struct {
    FILE *file; /* NULL: it goes on as before */
    int  saved;
} collected_t;


/* What functions of other sub-commands complain about becomes a part of what is
 * found out */
static void collect_errors(collected_t *collected)
{
    fflush(stderr);
    collected->saved = -1;
    collected->file  = tmpfile();
    if (collected->file != NULL) {
        collected->saved = dup(STDERR_FILENO);
        dup2(fileno(collected->file), STDERR_FILENO);
    }
}

/* @return what was collected: lines, without the name of this program */
static char *collected_errors(collected_t *collected)
{
    static const char prefix[] = "ucx_predreg: ";
    char *text                 = predreg_format("%s", "");
    char line[1024];
    char *longer;

    if (collected->file == NULL) {
        return text;
    }

    fflush(stderr);
    dup2(collected->saved, STDERR_FILENO);
    close(collected->saved);
    rewind(collected->file);
    while (fgets(line, sizeof(line), collected->file) != NULL) {
        longer = predreg_format("%s%s", text,
                                strncmp(line, prefix, strlen(prefix)) ?
                                line : (line + strlen(prefix)));
        free(text);
        text = longer;
    }

    fclose(collected->file);
    return text;
}

static void find_knobs(predreg_facts_t *facts)
{
    collected_t collected;

    collect_errors(&collected);
    predreg_knob_check_environment();
    facts->knob_errors = collected_errors(&collected);

    /* It has complained already */
    collect_errors(&collected);
    uct_predreg_knobs_read(&facts->knobs);
    free(collected_errors(&collected));
}

static void find_library(const char *folder, const char *wanted,
                         predreg_facts_t *facts)
{
    collected_t collected;
    int status;
    char *c;

    collect_errors(&collected);
    facts->library        = predreg_find_library(folder, wanted, &status);
    facts->library_errors = collected_errors(&collected);
    for (c = facts->library_errors; *c != '\0'; ++c) {
        if (*c == '\n') {
            *c = (c[1] == '\0') ? '\0' : ' '; /* It becomes one problem */
        }
    }

    facts->probe_path = predreg_probe_find(folder);
}

/*
 * Make the value of LD_PRELOAD for the probe. If the command is linked with
 * UCX, it ends with the libraries that the dynamic loader finds for it: these
 * are then loaded all at once, as they are with the command.
 *
 * @param [in] library  Path of the library; NULL: it is left out, also if the
 *                      environment has it.
 * @return NULL: nothing is preloaded.
 */
static char *make_preload(const predreg_facts_t *facts, const char *library)
{
    char *joined = predreg_check_memory(
            predreg_preload_join((library == NULL) ? PREDREG_LIBRARY : library,
                                 getenv(PREDREG_PRELOAD)));
    char *value  = joined;
    char *longer;
    unsigned i;

    if (library == NULL) {
        value += strcspn(joined, ":"); /* The colon is passed over below */
    }

    value = predreg_format("%s", value);
    free(joined);
    for (i = 0; (facts->target.kind == PREDREG_TARGET_LINKED) &&
                (facts->target.libraries[i] != NULL); ++i) {
        longer = predreg_format("%s:%s", value, facts->target.libraries[i]);
        free(value);
        value = longer;
    }

    if (value[0] == ':') {
        memmove(value, value + 1, strlen(value));
    }

    if (value[0] == '\0') {
        free(value);
        value = NULL;
    }
    return value;
}

static char *components_of(const uct_predreg_knobs_t *knobs)
{
    char *names = predreg_format("%s", "");
    char *longer;
    unsigned i;

    for (i = 0; i < knobs->components.count; ++i) {
        longer = predreg_format("%s%s,", names, knobs->components.names[i]);
        free(names);
        names = longer;
    }

    return names;
}

static void ask(predreg_facts_t *facts, int is_small)
{
    char *components = components_of(&facts->knobs);
    char *preload    = make_preload(facts, NULL);

    predreg_probe_ask(facts->probe_path, is_small, facts->target.libraries,
                      components, preload, &facts->asked);
    free(preload);
    free(components);
}

/* @return the names of the domains that the library would manage, a comma after
 * each */
static char *managed_domains(const predreg_facts_t *facts)
{
    char *names = predreg_format("%s", "");
    char *longer;
    unsigned i;

    for (i = 0; i < facts->asked.num_domains; ++i) {
        if (predreg_facts_is_managed(facts, &facts->asked.domains[i])) {
            longer = predreg_format("%s%s,", names,
                                    facts->asked.domains[i].name);
            free(names);
            names = longer;
        }
    }

    return names;
}

/* Start UCX with the library, unless it is known that this would not help */
static void rehearse(predreg_facts_t *facts, int is_small)
{
    char *preload, *managed;

    if (!facts->asked.is_known || (facts->asked.end[0] != '\0') ||
        (facts->library == NULL) || (facts->knob_errors[0] != '\0') ||
        (facts->asked.libraries[PREDREG_PROBE_LIBRARIES - 1][0] == '\0')) {
        return;
    }

    preload = make_preload(facts, facts->library);
    managed = is_small ? managed_domains(facts) : NULL;
    predreg_probe_rehearse(facts->probe_path, facts->target.libraries, managed,
                           preload, &facts->rehearsal);
    facts->is_rehearsed = 1;
    free(managed);
    free(preload);
}

int predreg_facts_find(const char *folder, const char *library, int is_small,
                       char *const *command, predreg_facts_t *facts)
{
    facts->command = command[0];
    if (predreg_target_find(facts->command, &facts->target) != 0) {
        predreg_error("'%s' was not found, or is no file that may be executed; "
                      "accepted: a program, or a launcher", facts->command);
        predreg_target_cleanup(&facts->target);
        return PREDREG_EXIT_NOT_FOUND;
    }

    find_knobs(facts);
    find_library(folder, library, facts);
    if ((facts->probe_path != NULL) && (facts->target.missing == NULL) &&
        (facts->target.kind != PREDREG_TARGET_STATIC)) {
        ask(facts, is_small);
        rehearse(facts, is_small);
    }

    return 0;
}

void predreg_facts_cleanup(predreg_facts_t *facts)
{
    predreg_target_cleanup(&facts->target);
    uct_predreg_knobs_cleanup(&facts->knobs);
    predreg_probe_cleanup(&facts->asked);
    predreg_probe_cleanup(&facts->rehearsal);
    free(facts->knob_errors);
    free(facts->library);
    free(facts->library_errors);
    free(facts->probe_path);
}
