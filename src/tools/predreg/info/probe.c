/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "probe.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>
#include <tools/predreg/run/environment.h>
#include <tools/predreg/run/find_library.h>

#include <uct/ib/predreg/eager/costs_text.h>

#include <ucs/sys/preprocessor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM      "ucx_predreg_probe"

/* Where the probe is in a build tree, seen from the folder of the program */
#define BUILD_FOLDER "../probe"

#define MAX_ARGS     16


char *predreg_probe_find(const char *folder)
{
    char *found = NULL;
    char *places[3];
    char *libexec;
    unsigned i;

    libexec   = predreg_relative_folder(folder, PREDREG_LIBEXECDIR);
    places[0] = predreg_format("%s/" BUILD_FOLDER "/" PROGRAM, folder);
    places[1] = predreg_format("%s/" PROGRAM, libexec);
    places[2] = predreg_format("%s/" PROGRAM, PREDREG_LIBEXECDIR);
    for (i = 0; i < 3; ++i) {
        if ((found == NULL) && (access(places[i], X_OK) == 0)) {
            found = places[i];
        } else {
            free(places[i]);
        }
    }

    free(libexec);
    return found;
}

static void set_text(char *text, size_t max, const char *value)
{
    snprintf(text, max, "%s", value);
}

#define SET_TEXT(_text, _value) set_text(_text, sizeof(_text), _value)

/* @return the domain that the lines read so far have named last, which the next
 * lines tell more of; NULL if they have named none */
static predreg_probe_domain_t *last_domain(predreg_probe_t *probe)
{
    return (probe->num_domains == 0) ? NULL :
           &probe->domains[probe->num_domains - 1];
}

static predreg_probe_domain_t *add_domain(predreg_probe_t *probe)
{
    probe->domains = predreg_check_memory(
            realloc(probe->domains,
                    (probe->num_domains + 1) * sizeof(*probe->domains)));
    ++probe->num_domains;
    return memset(last_domain(probe), 0, sizeof(*probe->domains));
}

/* The functions below read the rest of a line, whose first word has chosen
 * them */

static void read_stage(predreg_probe_t *probe, const char *rest)
{
    SET_TEXT(probe->stage, rest);
}

static void read_error(predreg_probe_t *probe, const char *rest)
{
    SET_TEXT(probe->error, rest);
}

static void read_library(predreg_probe_t *probe, const char *rest)
{
    static const char *const names[PREDREG_PROBE_LIBRARIES] = {
        "libucm.so.0 ", "libucs.so.0 ", "libuct.so.0 ", "libucp.so.0 "
    };
    unsigned i;

    for (i = 0; i < PREDREG_PROBE_LIBRARIES; ++i) {
        if (!strncmp(rest, names[i], strlen(names[i]))) {
            SET_TEXT(probe->libraries[i], rest + strlen(names[i]));
        }
    }
}

static void read_version(predreg_probe_t *probe, const char *rest)
{
    probe->has_version = (sscanf(rest, "%u %u %u", &probe->major, &probe->minor,
                                 &probe->release) == 3);
}

static void read_known(predreg_probe_t *probe, const char *rest)
{
    probe->is_known = 1;
}

static void read_unknown(predreg_probe_t *probe, const char *rest)
{
    SET_TEXT(probe->unknown, rest);
}

static void read_events(predreg_probe_t *probe, const char *rest)
{
    SET_TEXT(probe->events, rest);
}

static void read_domain(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = add_domain(probe);

    sscanf(rest, "%31s %63s %d %d", domain->component, domain->name,
           &domain->registers, &domain->needs_handles);
}

static void read_unopened(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = add_domain(probe);

    sscanf(rest, "%31s %63s %1023[^\n]", domain->component, domain->name,
           domain->failure);
}

static void read_cost(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = last_domain(probe);
    predreg_probe_cost_t cost;

    if ((domain == NULL) ||
        (sscanf(rest, "%lu %lf %lf %u", &cost.bytes, &cost.reg, &cost.dereg,
                &cost.count) != 4)) {
        return;
    }

    cost.reg   /= 1000;
    cost.dereg /= 1000;
    if (domain->small.count == 0) {
        domain->small = cost;
    } else {
        domain->large = cost;
    }
}

static void read_nocost(predreg_probe_t *probe, const char *rest)
{
    if (probe->num_domains > 0) {
        SET_TEXT(last_domain(probe)->no_cost, rest);
    } else {
        SET_TEXT(probe->no_cost, rest);
    }
}

static void read_small(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = last_domain(probe);

    if (domain != NULL) {
        domain->has_small = uct_predreg_costs_parse(rest, &domain->costs);
    } else {
        probe->has_small = uct_predreg_costs_parse(rest, &probe->costs);
    }
}

static void read_protocols(predreg_probe_t *probe, const char *rest)
{
    SET_TEXT(probe->protocols, rest);
}

static void read_used(predreg_probe_t *probe, const char *rest)
{
    size_t length = strlen(probe->used);

    if (length + strlen(rest) + 2 <= sizeof(probe->used)) {
        sprintf(probe->used + length, "%s,", rest);
    }
}

static void read_pinned(predreg_probe_t *probe, const char *rest)
{
    probe->pinned = strtol(rest, NULL, 10);
}

static void read_line(predreg_probe_t *probe, const char *line)
{
    static const struct {
        const char *word;
        void       (*read)(predreg_probe_t *probe, const char *rest);
    } words[] = {
        {"stage", read_stage},
        {"error", read_error},
        {"library", read_library},
        {"version", read_version},
        {"known", read_known},
        {"unknown", read_unknown},
        {"events", read_events},
        {"domain", read_domain},
        {"unopened", read_unopened},
        {"cost", read_cost},
        {"nocost", read_nocost},
        {"small", read_small},
        {"protocols", read_protocols},
        {"used", read_used},
        {"pinned", read_pinned},
    };
    size_t length = strcspn(line, " ");
    unsigned i;

    for (i = 0; i < sizeof(words) / sizeof(words[0]); ++i) {
        if ((length == strlen(words[i].word)) &&
            !strncmp(line, words[i].word, length)) {
            words[i].read(probe, line + length + (line[length] == ' '));
        }
    }
}

void predreg_probe_read(char *lines, predreg_probe_t *probe)
{
    char *line, *saveptr;

    for (line = strtok_r(lines, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
        read_line(probe, line);
    }
}

static void start(const char *path, const char *what, const char *names,
                  char *const *libraries, const predreg_child_var_t *vars,
                  predreg_probe_t *probe)
{
    const char *argv[MAX_ARGS]    = {
        path, what, UCS_PP_MAKE_STRING(PREDREG_CHILD_FD), names
    };
    predreg_child_params_t params = {
        .argv    = argv,
        .vars    = vars,
        .timeout = PREDREG_PROBE_TIMEOUT
    };
    predreg_child_t child;
    unsigned i;

    for (i = 0; (libraries[i] != NULL) && (i + 5 < MAX_ARGS); ++i) {
        argv[i + 4] = libraries[i];
    }

    memset(probe, 0, sizeof(*probe));
    probe->pinned = -1;
    predreg_child_run(&params, &child);
    predreg_probe_read(child.said, probe);
    if (!child.is_good) {
        SET_TEXT(probe->end, child.end);
    }

    probe->printed = child.printed;
    child.printed  = NULL;
    predreg_child_cleanup(&child);
}

void predreg_probe_ask(const char *path, int is_small, char *const *libraries,
                       const char *components, const char *preload,
                       predreg_probe_t *probe)
{
    const predreg_child_var_t vars[] = {
        {PREDREG_PRELOAD, preload},
        {NULL}
    };

    start(path, is_small ? "ask-small" : "ask", components, libraries, vars,
          probe);
}

void predreg_probe_rehearse(const char *path, char *const *libraries,
                            const char *managed, const char *preload,
                            predreg_probe_t *probe)
{
    const predreg_child_var_t vars[] = {
        {PREDREG_PRELOAD, preload},
        {PREDREG_KNOB_SUMMARY, "text"},
        {PREDREG_KNOB_OUTPUT, NULL},
        {PREDREG_KNOB_TRACE, NULL},
        /* What is printed is searched for complaints of the library and of UCX:
         * the user's settings must not hide them or send them to a file */
        {"UCX_LOG_LEVEL", "warn"},
        {"UCX_LOG_FILE", NULL},
        /* What the library would measure is measured by the probe */
        {(managed == NULL) ? NULL : PREDREG_KNOB_EAGER, "n"},
        {NULL}
    };

    start(path, (managed == NULL) ? "rehearse" : "rehearse-small",
          (managed == NULL) ? "" : managed, libraries, vars, probe);
}

void predreg_probe_cleanup(predreg_probe_t *probe)
{
    free(probe->domains);
    free(probe->printed);
}
