/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/run/run.h>
#include <ucs/base/align.h>

#include <ucs/sys/math.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @file facts.c
 *
 * Fills in the facts about the command, the settings and UCX (target.c has the facts about
 * the machine), and draws the conclusions that both the problems and the output need.
 */


/* The next two functions call functions of the folders common and run, which print
 * errors. While they run, errors are collected instead of printed, and become facts */

static void find_knobs(predreg_facts_t *facts)
{
    char *ignored;

    predreg_errors_collect(&facts->knob_errors);
    predreg_knob_check_environment();
    predreg_errors_collect(&ignored);
    uct_predreg_knobs_read(&facts->knobs); /* knob_errors already has the errors that
                                              this call prints */
    predreg_errors_collect(NULL);
    free(ignored);
}

static void find_library(const char *folder, const char *wanted,
                         predreg_facts_t *facts)
{
    int status;
    char *c;

    predreg_errors_collect(&facts->library_errors);
    facts->library = predreg_find_library(folder, wanted, &status);
    predreg_errors_collect(NULL);
    for (c = facts->library_errors; *c != '\0'; ++c) {
        if (*c == '\n') {
            *c = (c[1] == '\0') ? '\0' : ' '; /* The lines become one line, since they
                                                 are one problem */
        }
    }

    facts->probe_path = predreg_probe_find(folder);
}

/* Make the value of LD_PRELOAD for the probe. If the command is linked with UCX, the
 * value ends with the libraries of UCX that the dynamic loader found for the command. The
 * loader then loads all these libraries at once, as it does for the command.
 *
 * @param [in] with_library  Whether the value has the library. If not, it is left out
 *                           even if the environment preloads it. */
static char *make_preload(const predreg_facts_t *facts, int with_library)
{
    char *joined = predreg_preload_join(with_library ? facts->library : PREDREG_LIBRARY,
                                        getenv(PREDREG_PRELOAD));
    char *value  = predreg_format("%s", with_library ? joined :
                                        joined + strcspn(joined, ":"));
    unsigned i;

    free(joined);
    for (i = 0; (facts->target.kind == PREDREG_TARGET_LINKED) &&
                (facts->target.libraries[i] != NULL); ++i) {
        value = predreg_append(value, ":%s", facts->target.libraries[i]);
    }

    if (value[0] == ':') {
        memmove(value, value + 1, strlen(value));
    }
    return value;
}

/* Have the probe look at UCX, and start UCX with the library. UCX is not started if the
 * library is missing or a knob is wrong, since the library could not work then */
static void run_probe(predreg_facts_t *facts, predreg_probe_mode_t mode)
{
    int may_start    = (facts->library != NULL) && (facts->knob_errors[0] == '\0');
    char *components = predreg_format("%s", "");
    char *preload    = make_preload(facts, may_start);
    unsigned i;

    for (i = 0; i < facts->knobs.components.count; ++i) {
        components = predreg_append(components, "%s,", facts->knobs.components.names[i]);
    }

    predreg_probe_run(facts->probe_path, may_start ? mode : PREDREG_PROBE_LOOK,
                      facts->target.libraries, components,
                      (preload[0] == '\0') ? NULL : preload, facts->processes,
                      &facts->probe);
    free(preload);
    free(components);
}

unsigned predreg_facts_processes(char *const *command)
{
    static const char *const names[]    = {"-np", "-n", "-c", "--np", "--n", "--ntasks",
                                           NULL};
    static const char *const per_node[] = {"--ntasks-per-node", "-npernode", "--npernode",
                                           "-ppn", "-perhost", NULL};
    long number                         = 0;

    if ((command[0] == NULL) ||
        (predreg_launcher_by_name(command[0]) == PREDREG_LAUNCHER_NONE)) {
        return 1;
    }

    for (; command[1] != NULL; ++command) {
        if (predreg_is_any(command[0], per_node, 0)) {
            number = predreg_number(command[1], INT_MAX);
            break;
        }
        if ((number == 0) && predreg_is_any(command[0], names, 0)) {
            number = predreg_number(command[1], INT_MAX);
        }
    }

    return ucs_max(number, 1l);
}

int predreg_facts_find(const char *folder, const predreg_info_opts_t *opts,
                       predreg_probe_mode_t mode, predreg_facts_t *facts)
{
    char *own_folder = predreg_executable_folder();
    char *const *arg;

    facts->command = opts->command[0];
    if (predreg_target_find(facts->command, &facts->target) != 0) {
        predreg_error("'%s' was not found, or is no file that may be executed; "
                      "accepted: a program, or a launcher", facts->command);
        predreg_target_cleanup(&facts->target);
        free(own_folder);
        return PREDREG_EXIT_NOT_FOUND;
    }

    facts->processes = predreg_facts_processes(opts->command);
    for (arg = opts->command; *arg != NULL; ++arg) {
        facts->chooses_pml |= !strcmp(*arg, "pml") || !strcmp(*arg, "spml");
    }

    find_knobs(facts);
    find_library((folder == NULL) ? own_folder : folder, opts->library, facts);
    free(own_folder);
    if ((facts->probe_path != NULL) && (facts->target.missing == NULL) &&
        (facts->target.kind != PREDREG_TARGET_STATIC)) {
        run_probe(facts, mode);
    }

    return 0;
}

void predreg_facts_cleanup(predreg_facts_t *facts)
{
    predreg_target_cleanup(&facts->target);
    uct_predreg_knobs_cleanup(&facts->knobs);
    predreg_probe_cleanup(&facts->probe);
    free(facts->knob_errors);
    free(facts->library);
    free(facts->library_errors);
    free(facts->probe_path);
}

predreg_outcome_t predreg_facts_outcome(const predreg_facts_t *facts)
{
    const predreg_probe_t *probe = &facts->probe;

    if (probe->aside[0] != '\0') {
        return PREDREG_OUTCOME_ASIDE;
    }

    /* If UCX fails, it is not known what the library would have managed */
    if (!probe->has_status || (probe->end[0] != '\0') || (probe->error[0] != '\0')) {
        return PREDREG_OUTCOME_UNKNOWN;
    }

    return (probe->num_managed == 0) ? PREDREG_OUTCOME_NOTHING :
           !strcmp(probe->policy, "leave-pinned") ? PREDREG_OUTCOME_LEFT :
                                                    PREDREG_OUTCOME_MANAGED;
}

/* Whether the library would manage a domain if UCP uses it */
static int may_manage(const predreg_facts_t *facts,
                      const predreg_probe_domain_t *domain)
{
    return domain->registers && domain->needs_handles &&
           uct_predreg_is_managed_component(&facts->knobs, domain->component) &&
           (facts->knobs.policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED);
}

int predreg_facts_manages(const predreg_facts_t *facts,
                          const predreg_probe_domain_t *domain)
{
    predreg_outcome_t outcome = predreg_facts_outcome(facts);

    return may_manage(facts, domain) &&
           (domain->is_managed || (outcome == PREDREG_OUTCOME_UNKNOWN) ||
            (outcome == PREDREG_OUTCOME_ASIDE));
}

unsigned predreg_facts_num_managed(const predreg_facts_t *facts)
{
    unsigned count = 0;
    unsigned i;

    for (i = 0; i < facts->probe.num_domains; ++i) {
        count += may_manage(facts, &facts->probe.domains[i]);
    }

    return count;
}

const char *predreg_facts_domain_name(const predreg_probe_domain_t *domain)
{
    static char text[sizeof(domain->component) + sizeof(domain->name)];
    int has_name = strcmp(domain->component, domain->name);

    snprintf(text, sizeof(text), "%s%s%s", domain->component, has_name ? " " : "",
             has_name ? domain->name : "");
    return text;
}

const char *predreg_facts_domain_text(const predreg_facts_t *facts,
                                      const predreg_probe_domain_t *domain)
{
    return predreg_facts_manages(facts, domain) ? "managed" :
           may_manage(facts, domain) ?
           "not managed: UCP does not use it" :
           !domain->registers ? "not managed: it does not register memory" :
           !domain->needs_handles ?
           "not managed: its transports do not need registrations" :
           (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ?
           "not managed: the policy is leave-pinned" :
           "not managed: not in " PREDREG_KNOB_PREFIX "COMPONENTS";
}

int predreg_facts_protocols_differ(const predreg_facts_t *facts)
{
    const char *alone = facts->probe.protocols_alone;
    const char *with  = facts->probe.protocols;

    return (alone[0] != '\0') && (with[0] != '\0') && strcmp(alone, with);
}

unsigned predreg_facts_idle(const predreg_facts_t *facts)
{
    unsigned needed = facts->processes + facts->host.managed;

    return (facts->host.processors > needed) ?
           (facts->host.processors - needed) : 0;
}

int predreg_facts_is_measured(const predreg_probe_domain_t *domain)
{
    return (domain->small.count > 0) && (domain->large.count > 0);
}

predreg_facts_cost_t predreg_facts_cost(double small, double large,
                                        const predreg_probe_domain_t *domain)
{
    const size_t page         = ucs_page_size();
    predreg_facts_cost_t cost = {.op = small, .page = 0};
    size_t small_pages        = domain->small.bytes / page;
    size_t large_pages        = domain->large.bytes / page;

    /* By noise, the large buffer may seem to cost less than the small one, or the pages of
     * the small buffer alone more than the small buffer */
    if ((large_pages > small_pages) && (large > small)) {
        cost.page = (large - small) / (large_pages - small_pages);
        cost.op   = ucs_max(small - (cost.page * small_pages), 0);
    }

    return cost;
}
