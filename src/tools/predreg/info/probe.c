/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/child.h>
#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/run/run.h>
#include <ucs/reuse/costs.h>

#include <ucs/sys/preprocessor.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** @file probe.c
 *
 * The probe is a program of its own (src/tools/probe), since UCX may crash or hang, and
 * says its findings as lines of words through a descriptor. A table has the words.
 */

#define PROGRAM      "ucx_predreg_probe"

/* The probe's folder in a build tree, seen from the folder of the program */
#define BUILD_FOLDER "../probe"

#define MAX_ARGS     16

/* The variable of Open MPI for the number of ranks on a node (core/job.c) */
#define LOCAL_SIZE   "OMPI_COMM_WORLD_LOCAL_SIZE"


char *predreg_probe_find(const char *folder)
{
    char *libexec  = predreg_relative_folder(folder, PREDREG_LIBEXECDIR);
    char *places[] = {
        predreg_format("%s/" BUILD_FOLDER "/" PROGRAM, folder),
        predreg_format("%s/" PROGRAM, libexec),
        predreg_format("%s/" PROGRAM, PREDREG_LIBEXECDIR)
    };
    char *found    = NULL;
    unsigned i;

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

/* @return the domain of the last line "domain", to which further lines belong; NULL: there
 * was no such line. */
static predreg_probe_domain_t *last_domain(predreg_probe_t *probe)
{
    return (probe->num_domains == 0) ? NULL :
           &probe->domains[probe->num_domains - 1];
}

/* The probe prints lines that begin with a word (probe.h). For each word, one of the
 * functions below reads the rest of the line into the results */

static void read_library(predreg_probe_t *probe, const char *rest)
{
    size_t length = strcspn(rest, " ");
    unsigned i;

    for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
        if ((rest[length] == ' ') && (length == strlen(predreg_ucx_libraries[i])) &&
            !strncmp(rest, predreg_ucx_libraries[i], length)) {
            snprintf(probe->libraries[i], PATH_MAX, "%s", rest + length + 1);
        }
    }
}

static void read_version(predreg_probe_t *probe, const char *rest)
{
    probe->has_version = (sscanf(rest, "%u %u %u", &probe->major, &probe->minor,
                                 &probe->release) == 3);
}

static void read_domain(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = predreg_add(probe->domains, probe->num_domains);

    sscanf(rest, "%31s %63s %d %d", domain->component, domain->name,
           &domain->registers, &domain->needs_handles);
}

static void read_unopened(predreg_probe_t *probe, const char *rest)
{
    predreg_probe_domain_t *domain = predreg_add(probe->domains, probe->num_domains);

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
        snprintf(last_domain(probe)->no_cost, PREDREG_PROBE_TEXT, "%s", rest);
    }
}

static void read_keys(predreg_probe_t *probe, const char *rest)
{
    if (probe->num_domains > 0) {
        last_domain(probe)->max_mr = strtoul(rest, NULL, 10);
    }
}

static void read_protocols(predreg_probe_t *probe, const char *rest)
{
    snprintf(probe->is_started ? probe->protocols : probe->protocols_alone,
             sizeof(probe->protocols), "%s", rest);
}

static void read_pinned(predreg_probe_t *probe, const char *rest)
{
    probe->pinned = strtol(rest, NULL, 10);
}

static void read_managed(predreg_probe_t *probe, const char *rest)
{
    unsigned i;

    ++probe->num_managed;
    for (i = 0; i < probe->num_domains; ++i) {
        probe->domains[i].is_managed |= !strcmp(probe->domains[i].name, rest);
    }
}

static void read_pool(predreg_probe_t *probe, const char *rest)
{
    unsigned long bytes;
    unsigned kind;

    if ((sscanf(rest, "%u %lu", &kind, &bytes) == 2) &&
        (kind < UCS_RCACHE_PRED_POOL_LAST)) {
        probe->pools[kind] = bytes;
    }
}

static void read_small(predreg_probe_t *probe, const char *rest)
{
    probe->has_small = ucs_reuse_costs_parse(rest, &probe->costs);
}

#define TEXT(_name) \
    {#_name, offsetof(predreg_probe_t, _name), sizeof(((predreg_probe_t*)0)->_name), NULL}

#define FLAG(_word, _name) \
    {#_word, offsetof(predreg_probe_t, _name), 0, NULL}

static void read_line(predreg_probe_t *probe, const char *line)
{
    static const struct {
        const char *word;
        size_t     offset, size; /* For a word without a function: offset and size of
                                    the text in the results that gets the rest of the
                                    line; if the size is 0, offset of an int that
                                    becomes 1 */
        void       (*read)(predreg_probe_t *probe, const char *rest);
    } words[] = {
        TEXT(stage), TEXT(error), TEXT(unknown), TEXT(events), TEXT(aside), TEXT(why),
        TEXT(advice), TEXT(policy), TEXT(settings), TEXT(lean), TEXT(fork),
        {"library", 0, 0, read_library},
        {"version", 0, 0, read_version},
        FLAG(known, is_known),
        {"domain", 0, 0, read_domain},
        {"unopened", 0, 0, read_unopened},
        {"cost", 0, 0, read_cost},
        {"nocost", 0, 0, read_nocost},
        {"keys", 0, 0, read_keys},
        {"protocols", 0, 0, read_protocols},
        FLAG(started, is_started),
        {"pinned", 0, 0, read_pinned},
        FLAG(status, has_status),
        {"managed", 0, 0, read_managed},
        {"pool", 0, 0, read_pool},
        {"small", 0, 0, read_small}
    };
    size_t length    = strcspn(line, " ");
    const char *rest = line + length + (line[length] == ' ');
    unsigned i;

    for (i = 0; i < ucs_static_array_size(words); ++i) {
        if ((length != strlen(words[i].word)) ||
            strncmp(line, words[i].word, length)) {
            continue;
        }

        if (words[i].read != NULL) {
            words[i].read(probe, rest);
        } else if (words[i].size > 0) {
            snprintf((char*)probe + words[i].offset, words[i].size, "%s", rest);
        } else {
            *(int*)((char*)probe + words[i].offset) = 1;
        }
    }
}

void predreg_probe_read(char *lines, predreg_probe_t *probe)
{

    predreg_for_each_word(line, lines, "\n") {
        read_line(probe, line);
    }
}

void predreg_probe_run(const char *path, predreg_probe_mode_t mode,
                       char *const *libraries, const char *components,
                       const char *preload, unsigned processes,
                       predreg_probe_t *probe)
{
    char ranks[16];
    static const char *const modes[] = {
        [PREDREG_PROBE_LOOK]  = "look",
        [PREDREG_PROBE_START] = "start",
        [PREDREG_PROBE_SMALL] = "small"
    };
    const char *argv[MAX_ARGS]          = {
        path, UCS_PP_MAKE_STRING(PREDREG_CHILD_FD), modes[mode], components
    };
    const predreg_child_var_t vars[]    = {
        {PREDREG_PRELOAD, preload},
        {PREDREG_KNOB_SUMMARY, "n"},
        {PREDREG_KNOB_TRACE, NULL},
        /* info looks for warnings of the library and of UCX in the output: the user's
         * settings must not hide them or send them to a file */
        {"UCX_LOG_LEVEL", "warn"},
        {"UCX_LOG_FILE", NULL},
        {LOCAL_SIZE, (processes > 1) ? ranks : getenv(LOCAL_SIZE)},
        {(mode == PREDREG_PROBE_SMALL) ? PREDREG_KNOB_EAGER : NULL, "y"},
        {NULL}
    };
    const predreg_child_params_t params = {
        .argv    = argv,
        .vars    = vars,
        .timeout = PREDREG_PROBE_TIMEOUT
    };
    predreg_child_t child;
    unsigned i;

    for (i = 0; (libraries[i] != NULL) && (i + 5 < MAX_ARGS); ++i) {
        argv[i + 4] = libraries[i];
    }

    snprintf(ranks, sizeof(ranks), "%u", processes);
    memset(probe, 0, sizeof(*probe));
    probe->pinned = -1;
    predreg_child_run(&params, &child);
    predreg_probe_read(child.said, probe);
    if (!child.is_good) {
        snprintf(probe->end, sizeof(probe->end), "%s", child.end);
    }

    probe->printed = child.printed;
    child.printed  = NULL;
    predreg_child_cleanup(&child);
}

void predreg_probe_cleanup(predreg_probe_t *probe)
{
    free(probe->domains);
    free(probe->printed);
}
