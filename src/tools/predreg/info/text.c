/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "text.h"
#include "settings.h"

#include <tools/predreg/common/knob.h>

#include <ucs/rcache_pred/stats.h>

#include <ucs/sys/string.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define ROW "  %-16s "


static const char *size_text(uint64_t bytes, char *text, size_t max)
{
    if (bytes == UINT64_MAX) {
        snprintf(text, max, "no limit");
    } else {
        ucs_memunits_to_str(bytes, text, max);
    }
    return text;
}

static void print_versions(const predreg_facts_t *facts)
{
    const predreg_host_t *host = &facts->host;

    printf("Versions\n");
    printf(ROW "%s, built with UCX %s\n", "ucx-predreg", PACKAGE_VERSION,
           PREDREG_UCX_VERSION_STRING);
    printf(ROW "%s\n", "kernel", host->kernel);
    printf(ROW "%s\n", "distribution", host->distribution);
    if (host->launcher[0] != '\0') {
        printf(ROW "%s: %s\n", "MPI", host->launcher, host->mpi);
    }
    printf(ROW "%s\n", "library", (facts->library == NULL) ? "not found" :
                                                             facts->library);
}

static void print_ucx(const predreg_facts_t *facts)
{
    const predreg_probe_t *ucx = &facts->asked;
    unsigned i;

    printf("\nUCX\n");
    if (facts->command != NULL) {
        printf(ROW "%s\n", "command", facts->target.path);
    }
    printf(ROW "%s\n", "found by", predreg_info_target_text(facts));
    for (i = 0; i < PREDREG_PROBE_LIBRARIES; ++i) {
        if (ucx->libraries[i][0] != '\0') {
            printf(ROW "%s\n", (i == 0) ? "libraries" : "",
                   ucx->libraries[i]);
        }
    }

    if (ucx->has_version) {
        printf(ROW "%u.%u.%u, %s\n", "version", ucx->major, ucx->minor,
               ucx->release, ucx->is_known ? "known" : "not known");
    }
    if (ucx->events[0] != '\0') {
        printf(ROW "%s\n", "memory events", ucx->events);
    }
}

static void print_cost(const predreg_probe_domain_t *domain)
{
    predreg_facts_cost_t reg   = predreg_facts_cost(domain->small.reg,
                                                    domain->large.reg, domain);
    predreg_facts_cost_t dereg = predreg_facts_cost(domain->small.dereg,
                                                    domain->large.dereg,
                                                    domain);

    printf(ROW "%.2f us + %.3f us a page\n", "  registration", reg.op,
           reg.page);
    printf(ROW "%.2f us + %.3f us a page\n", "  deregistration", dereg.op,
           dereg.page);
    printf(ROW "medians of %u, of %lu and of %lu bytes\n", "  measured",
           domain->small.count, domain->small.bytes, domain->large.bytes);
}

const char *predreg_info_domain_text(const predreg_facts_t *facts,
                                     const predreg_probe_domain_t *domain)
{
    if (predreg_facts_is_managed(facts, domain)) {
        return predreg_facts_is_used(facts, domain) ?
               "managed" : "not managed: UCP does not use it";
    }

    if (!domain->registers) {
        return "not managed: it does not register memory";
    }

    if (!domain->needs_handles) {
        return "not managed: its transports do not need registrations";
    }

    return (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) ?
           "not managed: the policy is leave-pinned" :
           "not managed: not in " PREDREG_KNOB_PREFIX "COMPONENTS";
}

static void print_domains(const predreg_facts_t *facts)
{
    const predreg_probe_domain_t *domain;
    char name[128];
    unsigned i;

    if (facts->asked.num_domains == 0) {
        return;
    }

    printf("\nMemory domains\n");
    for (i = 0; i < facts->asked.num_domains; ++i) {
        domain = &facts->asked.domains[i];
        if (strcmp(domain->component, domain->name)) {
            snprintf(name, sizeof(name), "%s %s", domain->component,
                     domain->name);
        } else {
            snprintf(name, sizeof(name), "%s", domain->name);
        }

        if (domain->failure[0] != '\0') {
            printf(ROW "cannot be opened: %s\n", name, domain->failure);
        } else {
            printf(ROW "%s\n", name,
                   predreg_info_domain_text(facts, domain));
        }

        if ((domain->small.count > 0) && (domain->large.count > 0)) {
            print_cost(domain);
        } else if (domain->no_cost[0] != '\0') {
            printf(ROW "refused: %s\n", "  registration", domain->no_cost);
        }
    }
}

static const char *outcome_text(const predreg_facts_t *facts)
{
    static const char *const texts[PREDREG_OUTCOME_LAST] = {
        [PREDREG_OUTCOME_UNKNOWN] = "UCX does not start, see the problems",
        [PREDREG_OUTCOME_ASIDE]   = "the library steps aside",
        [PREDREG_OUTCOME_NOTHING] = "there is nothing to manage",
        [PREDREG_OUTCOME_LEFT]    = "memory is left to UCX",
        [PREDREG_OUTCOME_MANAGED] = "memory is managed"
    };

    return facts->is_rehearsed ? texts[predreg_facts_outcome(facts)] :
                                 "not tried, see the problems";
}

static void print_memory(const predreg_facts_t *facts)
{
    const predreg_host_t *host       = &facts->host;
    const uct_predreg_knobs_t *knobs = &facts->knobs;
    char settings[512];
    char text[32];

    printf("\nMemory\n");
    printf(ROW "%s%s\n", "locked memory",
           size_text(host->memlock, text, sizeof(text)),
           ((host->memlock == UINT64_MAX) || !host->is_unlimited) ? "" :
           ", lifted by CAP_IPC_LOCK");
    if (facts->is_rehearsed && (facts->rehearsal.pinned >= 0)) {
        printf(ROW "has pinned %s\n", "UCX at its start",
               size_text(facts->rehearsal.pinned, text, sizeof(text)));
    }
    if (predreg_facts_protocols_differ(facts)) {
        printf(ROW "%s with the library, %s without\n", "PROTO_ENABLE",
               facts->rehearsal.protocols, facts->asked.protocols);
    }
    predreg_facts_ucx_settings(facts, settings, sizeof(settings));
    if (settings[0] != '\0') {
        printf(ROW "%s\n", "taken from UCX", settings);
    }
    printf(ROW "%s\n", "MAX_PINNED",
           size_text((knobs->max_pinned == SIZE_MAX) ? UINT64_MAX :
                     knobs->max_pinned, text, sizeof(text)));
    printf(ROW "%s\n", "NODE_MAX_PINNED",
           size_text((knobs->node_max_pinned == SIZE_MAX) ? UINT64_MAX :
                     knobs->node_max_pinned, text, sizeof(text)));
    if (knobs->max_regions != ULONG_MAX) {
        printf(ROW "%lu\n", "MAX_REGIONS", knobs->max_regions);
    }
    if (knobs->node_max_regions != ULONG_MAX) {
        printf(ROW "%lu\n", "NODE_MAX_REGIONS", knobs->node_max_regions);
    }
}

static void print_processors(const predreg_facts_t *facts)
{
    const predreg_host_t *host = &facts->host;
    unsigned idle              = predreg_facts_idle(facts);

    printf("\nProcessors\n");
    printf(ROW "%u\n", "usable", host->processors);
    printf(ROW "%u now with the library, %u of the command\n", "processes",
           host->managed, facts->processes);
    printf(ROW "%u if each keeps one busy: %s\n", "idle then", idle,
           (facts->knobs.helper != UCS_RCACHE_PRED_HELPER_CONSERVATIVE) ?
           "the helper does not depend on it" :
           (idle >= facts->processes) ? "a helper thread in each process" :
           (idle > 0) ? "a helper thread in as many processes" :
           "processes do the helper's work themselves");
}

static void print_problems(const predreg_problems_t *problems)
{
    unsigned i;

    if (problems->count > 0) {
        printf("\nProblems\n");
    }

    for (i = 0; i < problems->count; ++i) {
        printf("  %s%s\n    do this: %s\n",
               problems->list[i].stops ? "" : "(note) ",
               problems->list[i].what, problems->list[i].advice);
    }
}

static void print_setting(void *arg, const char *name, const char *value)
{
    if (!*(int*)arg) {
        printf("\nSettings\n");
    }
    *(int*)arg = 1;
    printf("  %s=%s\n", name, value);
}

const char *predreg_info_target_text(const predreg_facts_t *facts)
{
    switch (facts->target.kind) {
    case PREDREG_TARGET_NONE:
        return "looking for libucp.so.0, as a program that loads it does";
    case PREDREG_TARGET_LAUNCHER:
        return "looking for libucp.so.0, as a plug-in of MPI does; the command "
               "is a launcher, whose ranks may find another one";
    case PREDREG_TARGET_LINKED:
        return "what the dynamic loader finds for the command";
    case PREDREG_TARGET_PLUGIN:
        return "looking for libucp.so.0, as a plug-in of MPI does; the command "
               "is not linked with UCX";
    case PREDREG_TARGET_SCRIPT:
        return "looking for libucp.so.0; the command is a script, or no "
               "program of this machine";
    default:
        return "nothing: the command has no dynamic loader";
    }
}

void predreg_info_print_text(const predreg_facts_t *facts,
                             const predreg_problems_t *problems)
{
    int has_title = 0;

    print_versions(facts);
    print_ucx(facts);
    print_domains(facts);
    print_memory(facts);
    print_processors(facts);
    predreg_settings_each(print_setting, &has_title);
    printf("\nResult\n" ROW "%s\n", "policy",
           ucs_rcache_pred_policy_names[facts->knobs.policy]);
    printf(ROW "%s\n", "tried in UCX", outcome_text(facts));
    printf(ROW "%s\n", "all in all", predreg_problems_works(problems) ?
                                     "memory would be managed" :
                                     "nothing would be managed");
    print_problems(problems);
}
