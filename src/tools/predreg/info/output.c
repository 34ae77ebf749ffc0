/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "info.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/json.h>
#include <ucs/base/strb.h>
#include <ucs/stat/stats.h>

#include <ucs/sys/string.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** @file output.c
 *
 * Prints the same facts in two forms: sections of rows for people, and the members of one
 * JSON object.
 */

#define ROW "  %-16s "


/* Names in JSON, and texts, of outcomes */
static const struct {
    const char *name;
    const char *text;
} outcomes[PREDREG_OUTCOME_LAST] = {
    [PREDREG_OUTCOME_UNKNOWN] = {NULL, "UCX does not start, see the problems"},
    [PREDREG_OUTCOME_ASIDE]   = {"aside", "the library steps aside"},
    [PREDREG_OUTCOME_NOTHING] = {"nothing", "there is nothing to manage"},
    [PREDREG_OUTCOME_LEFT]    = {"left", "memory is left to UCX"},
    [PREDREG_OUTCOME_MANAGED] = {"managed", "memory is managed"}
};

/* Names in JSON, and texts, of the kinds of commands */
static const struct {
    const char *name;
    const char *text;
} targets[] = {
    [PREDREG_TARGET_NONE]     =
        {NULL, "looking for libucp.so.0, as a program that loads it does"},
    [PREDREG_TARGET_LAUNCHER] =
        {"launcher", "looking for libucp.so.0, as a plug-in of MPI does; the command "
         "is a launcher, whose ranks may find another one"},
    [PREDREG_TARGET_LINKED]   =
        {"linked", "what the dynamic loader finds for the command"},
    [PREDREG_TARGET_PLUGIN]   =
        {"plugin", "looking for libucp.so.0, as a plug-in of MPI does; the command "
         "is not linked with UCX"},
    [PREDREG_TARGET_SCRIPT]   =
        {"script", "looking for libucp.so.0; the command is a script, or no "
         "program of this machine"},
    [PREDREG_TARGET_STATIC]   =
        {"static", "nothing: the command has no dynamic loader"}
};


/* @return the next variable of the environment with an effect on UCX, NAME=VALUE; NULL:
 *         there is no further one. @param [inout] var_p  The variable with which the
 *         search begins. */
static const char *next_setting(char ***var_p)
{
    static const char *const begins[] = {"UCX_", "LD_PRELOAD=", "LD_LIBRARY_PATH=", NULL};
    const char *var;

    while ((var = *(*var_p)) != NULL) {
        ++*var_p;
        if (predreg_is_any(var, begins, 1) && (strchr(var, '=') != NULL)) {
            return var;
        }
    }

    return NULL;
}

/* Print a row, unless its text is empty */
static void print_known(const char *name, const char *text)
{
    if (text[0] != '\0') {
        printf(ROW "%s\n", name, text);
    }
}

/* Print a bound on a number of registrations, if there is one */
static void print_bound(const char *name, unsigned long number)
{
    if (number != ULONG_MAX) {
        printf(ROW "%lu\n", name, number);
    }
}

static void print_size(const char *name, uint64_t bytes, const char *more)
{
    char text[32] = "no limit";

    if (bytes != UINT64_MAX) {
        ucs_memunits_to_str(bytes, text, sizeof(text));
    }
    printf(ROW "%s%s\n", name, text, more);
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
    const predreg_probe_t *ucx = &facts->probe;
    unsigned i;

    printf("\nUCX\n");
    if (facts->command != NULL) {
        printf(ROW "%s\n", "command", facts->target.path);
    }
    printf(ROW "%s\n", "found by", targets[facts->target.kind].text);
    for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
        print_known((i == 0) ? "libraries" : "", ucx->libraries[i]);
    }

    if (ucx->has_version) {
        printf(ROW "%u.%u.%u, %s\n", "version", ucx->major, ucx->minor,
               ucx->release, ucx->is_known ? "known" : "not known");
    }
    print_known("memory events", ucx->events);
}

static void print_cost(const char *name, double small, double large,
                       const predreg_probe_domain_t *domain)
{
    predreg_facts_cost_t cost = predreg_facts_cost(small, large, domain);

    printf(ROW "%.2f us + %.3f us a page\n", name, cost.op, cost.page);
}

static void print_domain(const predreg_facts_t *facts,
                         const predreg_probe_domain_t *domain)
{
    const char *name = predreg_facts_domain_name(domain);

    if (domain->failure[0] != '\0') {
        printf(ROW "cannot be opened: %s\n", name, domain->failure);
    } else {
        printf(ROW "%s\n", name, predreg_facts_domain_text(facts, domain));
    }

    if (domain->max_mr > 0) {
        printf(ROW "%lu at most (max_mr)\n", "  keys", domain->max_mr);
    }
    if (predreg_facts_is_measured(domain)) {
        print_cost("  registration", domain->small.reg, domain->large.reg, domain);
        print_cost("  deregistration", domain->small.dereg, domain->large.dereg, domain);
        printf(ROW "medians of %u, of %lu and of %lu bytes\n", "  measured",
               domain->small.count, domain->small.bytes, domain->large.bytes);
    } else if (domain->no_cost[0] != '\0') {
        printf(ROW "refused: %s\n", "  registration", domain->no_cost);
    }
}

/* Print the bytes of UCX's own pools by kind, and the settings of POOLS=lean */
static void print_pools(const predreg_probe_t *probe)
{
    UCS_STRB(kinds, 256);

    ucs_rcache_pred_pools_text(probe->pools, &kinds);
    if (ucs_string_buffer_length(&kinds) > 0) {
        printf(ROW "before the first message%s\n", "UCX's pools",
               ucs_string_buffer_cstr(&kinds));
    }
    print_known("lean pools", probe->lean);
}

static void print_memory(const predreg_facts_t *facts)
{
    const predreg_host_t *host       = &facts->host;
    const uct_predreg_knobs_t *knobs = &facts->knobs;
    const predreg_probe_t *probe     = &facts->probe;
    char text[32];

    printf("\nMemory\n");
    print_size("locked memory", host->memlock,
               ((host->memlock == UINT64_MAX) || !host->is_unlimited) ?
               "" : ", lifted by CAP_IPC_LOCK");
    if (host->max_mappings > 0) {
        printf(ROW "%lu at most, in use %lu\n", "mappings", host->max_mappings,
               host->mappings);
    }
    print_known("fork protection", probe->fork);
    printf(ROW "%s\n", "swap", host->no_swap ?
           "none: where memory is short, giving it up helps nobody" : "yes");
    if (probe->pinned >= 0) {
        ucs_memunits_to_str(probe->pinned, text, sizeof(text));
        printf(ROW "has pinned %s\n", "UCX at its start", text);
    }
    if (predreg_facts_protocols_differ(facts)) {
        printf(ROW "%s with the library, %s without\n", "PROTO_ENABLE",
               probe->protocols, probe->protocols_alone);
    }
    print_known("taken from UCX", probe->settings);
    print_pools(probe);
    print_size("MAX_PINNED", knobs->max_pinned, "");
    print_size("NODE_MAX_PINNED", knobs->node_max_pinned, "");
    print_bound("MAX_REGIONS", knobs->max_regions);
    print_bound("NODE_MAX_REGIONS", knobs->node_max_regions);
}

static void print_processors(const predreg_facts_t *facts)
{
    const predreg_host_t *host = &facts->host;
    unsigned idle              = predreg_facts_idle(facts);

    printf("\nProcessors\n");
    printf(ROW "%u\n", "usable", host->processors);
    printf(ROW "%u now with the library, %u of the command, on one node\n", "processes",
           host->managed, facts->processes);
    printf(ROW "%u if each keeps one busy: %s\n", "idle then", idle,
           (facts->knobs.helper != UCS_RCACHE_PRED_HELPER_CONSERVATIVE) ?
           "the helper does not depend on it" :
           (idle >= facts->processes) ? "a helper thread in each process" :
           (idle > 0) ? "a helper thread in as many processes" :
           "processes do the helper's work themselves");
}

static void print_settings(void)
{
    const char *title = "\nSettings\n";
    char **vars       = environ;
    const char *var;

    while ((var = next_setting(&vars)) != NULL) {
        printf("%s  %s\n", title, var);
        title = "";
    }
}

void predreg_info_print_text(const predreg_facts_t *facts,
                             const predreg_problems_t *problems)
{
    unsigned i;

    print_versions(facts);
    print_ucx(facts);
    for (i = 0; i < facts->probe.num_domains; ++i) {
        printf("%s", (i == 0) ? "\nMemory domains\n" : "");
        print_domain(facts, &facts->probe.domains[i]);
    }
    print_memory(facts);
    print_processors(facts);
    print_settings();

    printf("\nResult\n" ROW "%s\n", "policy",
           ucs_rcache_pred_policy_names[facts->knobs.policy]);
    printf(ROW "%s\n", "tried in UCX", facts->probe.is_started ?
                                       outcomes[predreg_facts_outcome(facts)].text :
                                       "not tried, see the problems");
    printf(ROW "%s\n", "all in all", (problems->num_stops == 0) ?
                                     "memory would be managed" :
                                     "nothing would be managed");
    for (i = 0; i < problems->count; ++i) {
        printf("%s  %s%s\n    do this: %s\n", (i == 0) ? "\nProblems\n" : "",
               problems->list[i].stops ? "" : "(note) ",
               problems->list[i].what, problems->list[i].advice);
    }
}

/* Write a string, or null if the string is empty */
static void put(ucs_json_t *json, const char *name, const char *value)
{
    ucs_json_string(json, name, ((value == NULL) || (value[0] == '\0')) ? NULL : value);
}

static void put_limit(ucs_json_t *json, const char *name, uint64_t value,
                      uint64_t unlimited)
{
    if (value == unlimited) {
        ucs_json_string(json, name, NULL);
    } else {
        ucs_json_printf(json, name, "%lu", value);
    }
}

static void put_ucx(ucs_json_t *json, const predreg_facts_t *facts)
{
    const predreg_probe_t *ucx = &facts->probe;
    char version[64];
    unsigned i;

    put(json, "command", facts->target.path);
    put(json, "command_kind", targets[facts->target.kind].name);
    ucs_json_begin(json, "libraries", '[');
    for (i = 0; i < PREDREG_NUM_LIBRARIES; ++i) {
        put(json, NULL, ucx->libraries[i]);
    }
    ucs_json_end(json, ']');
    snprintf(version, sizeof(version), "%u.%u.%u", ucx->major, ucx->minor, ucx->release);
    ucs_json_string(json, "ucx_version", ucx->has_version ? version : NULL);
    ucs_json_bool(json, "known", ucx->is_known);
    put(json, "memory_events", ucx->events);
}

static void put_cost(ucs_json_t *json, const char *name, double small, double large,
                     const predreg_probe_domain_t *domain)
{
    predreg_facts_cost_t cost = predreg_facts_cost(small, large, domain);

    ucs_json_printf(json, name, "{\"us\":%.3f,\"us_a_page\":%.5f,\"count\":%u}", cost.op,
                    cost.page, domain->small.count);
}

static void put_domain(ucs_json_t *json, const predreg_facts_t *facts,
                       const predreg_probe_domain_t *domain)
{
    ucs_json_begin(json, NULL, '{');
    JSON_STRING(domain, name);
    put(json, "component", domain->component);
    JSON_BOOL(domain, registers);
    JSON_BOOL(domain, needs_handles);
    ucs_json_bool(json, "managed", predreg_facts_manages(facts, domain));
    put(json, "failure", domain->failure);
    put_limit(json, "max_mr", domain->max_mr, 0);
    if (predreg_facts_is_measured(domain)) {
        put_cost(json, "registration", domain->small.reg, domain->large.reg, domain);
        put_cost(json, "deregistration", domain->small.dereg, domain->large.dereg,
                 domain);
    }
    put(json, "not_measured", domain->no_cost);
    ucs_json_end(json, '}');
}

static void put_host(ucs_json_t *json, const predreg_facts_t *facts)
{
    const predreg_host_t *host       = &facts->host;
    const uct_predreg_knobs_t *knobs = &facts->knobs;
    const predreg_probe_t *probe     = &facts->probe;
    unsigned i;

    put(json, "rdma_devices", host->devices);
    put_limit(json, "locked_memory", host->memlock, UINT64_MAX);
    ucs_json_bool(json, "may_lock_anything", host->is_unlimited);
    put_limit(json, "max_mappings", host->max_mappings, 0);
    put_limit(json, "mappings", host->mappings, 0);
    put(json, "fork_protection", probe->fork);
    put_limit(json, "max_objects", host->max_objects, 0);
    ucs_json_bool(json, "swap", !host->no_swap);
    ucs_json_bool(json, "pressure", !host->no_pressure);
    put_limit(json, "pinned_by_ucx", probe->pinned, -1);
    put(json, "proto_enable", probe->protocols);
    put(json, "proto_enable_alone", probe->protocols_alone);
    put(json, "ucx_settings", probe->settings);
    put(json, "pool_settings", probe->lean);
    ucs_json_begin(json, "pools", '{');
    for (i = 0; i < UCS_RCACHE_PRED_POOL_LAST; ++i) {
        ucs_json_uint(json, ucs_rcache_pred_pool_names[i], probe->pools[i]);
    }
    ucs_json_end(json, '}');
    put_limit(json, "max_pinned", knobs->max_pinned, SIZE_MAX);
    put_limit(json, "max_regions", knobs->max_regions, ULONG_MAX);
    put_limit(json, "node_max_pinned", knobs->node_max_pinned, SIZE_MAX);
    put_limit(json, "node_max_regions", knobs->node_max_regions, ULONG_MAX);
    ucs_json_printf(json, "processors", "%u", host->processors);
    ucs_json_printf(json, "processes", "%u", facts->processes);
    ucs_json_printf(json, "other_processes", "%u", host->managed);
    ucs_json_printf(json, "idle_processors", "%u", predreg_facts_idle(facts));
}

static void put_settings(ucs_json_t *json)
{
    char **vars = environ;
    const char *var;
    char *name;

    ucs_json_begin(json, "settings", '{');
    while ((var = next_setting(&vars)) != NULL) {
        name = predreg_format("%.*s", (int)strcspn(var, "="), var);
        ucs_json_string(json, name, strchr(var, '=') + 1);
        free(name);
    }
    ucs_json_end(json, '}');
}

void predreg_info_print_json(const predreg_facts_t *facts,
                             const predreg_problems_t *problems)
{
    ucs_json_t *json = predreg_json_begin("info");
    unsigned i;

    ucs_json_string(json, "ucx_predreg", PACKAGE_VERSION);
    ucs_json_string(json, "built_with_ucx", PREDREG_UCX_VERSION_STRING);
    put(json, "kernel", facts->host.kernel);
    put(json, "distribution", facts->host.distribution);
    put(json, "launcher", facts->host.launcher);
    put(json, "mpi", facts->host.mpi);
    put(json, "library", facts->library);
    put_ucx(json, facts);
    ucs_json_begin(json, "domains", '[');
    for (i = 0; i < facts->probe.num_domains; ++i) {
        put_domain(json, facts, &facts->probe.domains[i]);
    }
    ucs_json_end(json, ']');
    put_host(json, facts);
    put_settings(json);
    ucs_json_begin(json, "problems", '[');
    for (i = 0; i < problems->count; ++i) {
        ucs_json_begin(json, NULL, '{');
        ucs_json_string(json, "what", problems->list[i].what);
        ucs_json_string(json, "do", problems->list[i].advice);
        ucs_json_bool(json, "stops", problems->list[i].stops);
        ucs_json_end(json, '}');
    }
    ucs_json_end(json, ']');
    put(json, "tried", outcomes[predreg_facts_outcome(facts)].name);
    put(json, "aside", facts->probe.aside);
    ucs_json_string(json, "policy", ucs_rcache_pred_policy_names[facts->knobs.policy]);
    ucs_json_bool(json, "works", problems->num_stops == 0);
    predreg_json_print(json);
}
