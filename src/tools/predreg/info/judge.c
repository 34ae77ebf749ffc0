/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <tools/predreg/common/knob.h>
#include <tools/predreg/run/run.h>
#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @file judge.c
 *
 * Each function adds the problems of one part of the facts, with a remedy. The library
 * itself says why it steps aside; the rest is only visible from outside.
 */

/* Locked memory that UCX's own pools may take with an adapter, once a process communicates:
 * 33 to 76 MB were seen with UCX 1.13 and 1.18 */
#define IB_COMPONENT "ib"
#define IB_POOLS     (80ul << 20)

/* A batch system may set another limit for its jobs than a shell has */
#define WHERE_LIMIT \
    "for jobs where they are started (limits.conf, LimitMEMLOCK= of the service)"

/* The most complaints in the log that become problems: further ones are likely to repeat
 * the first ones */
#define MAX_COMPLAINTS 5


/* Add a problem to the list. A problem that stops the library goes behind the other
 * problems that stop it, and any other problem goes to the end. @param [in] advice  The
 * remedy, which is copied. */
static void __attribute__((format(printf, 4, 5)))
add(predreg_problems_t *problems, int stops, const char *advice, const char *format, ...)
{
    unsigned place = stops ? problems->num_stops++ : problems->count;
    va_list args;

    predreg_add(problems->list, problems->count);
    memmove(&problems->list[place + 1], &problems->list[place],
            (problems->count - 1 - place) * sizeof(*problems->list));

    va_start(args, format);
    problems->list[place] = (predreg_problem_t){
        .what   = predreg_vformat(format, args),
        .advice = predreg_format("%s", advice),
        .stops  = stops
    };
    va_end(args);
}

void predreg_problems_cleanup(predreg_problems_t *problems)
{
    unsigned i;

    for (i = 0; i < problems->count; ++i) {
        free(problems->list[i].what);
        free(problems->list[i].advice);
    }
    free(problems->list);
}

/* Judge the command itself */
static void judge_target(const predreg_facts_t *facts,
                         predreg_problems_t *problems)
{
    const predreg_target_t *target = &facts->target;

    if (target->kind == PREDREG_TARGET_STATIC) {
        add(problems, 1, "link it with the shared libraries of UCX",
            "%s is linked statically: nothing can be preloaded into it", facts->command);
    }

    if (target->is_privileged) {
        add(problems, 1, "run a copy of it without set-user-ID, set-group-ID and "
            "capabilities", "%s has rights that its user lacks: nothing is preloaded "
            "into it, or the library steps aside", target->path);
    }

    if (target->missing != NULL) {
        add(problems, 1, "install UCX, or put its folder into LD_LIBRARY_PATH",
            "%s needs %s, which is not found", facts->command, target->missing);
    }
}

/* Judge the installation, and the settings */
static void judge_installation(const predreg_facts_t *facts,
                               predreg_problems_t *problems)
{
    char *text;

    if (facts->library == NULL) {
        add(problems, 1, "install ucx-predreg again, or name the library with "
            "--library PATH", "%s", facts->library_errors);
    }

    if (facts->probe_path == NULL) {
        add(problems, 1, "install ucx-predreg again", "ucx_predreg_probe was not found, so "
            "that UCX was not looked at");
    }

    text = predreg_format("%s", facts->knob_errors);
    predreg_for_each_word(line, text, "\n") {
        add(problems, 1, "correct the variable, or unset it", "%s", line);
    }
    free(text);

    if (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        add(problems, 1, "unset it for prediction", PREDREG_KNOB_PREFIX
            "POLICY=leave-pinned leaves everything to UCX and its own cache");
    }
}

/* Add the problems that UCX has by itself, whether the library is loaded or not. @return whether
 * the probe could look at UCX */
static int judge_ucx(const predreg_facts_t *facts,
                     predreg_problems_t *problems)
{
    const predreg_probe_t *probe = &facts->probe;

    if (probe->is_started) {
        return 1;
    }

    if (probe->end[0] != '\0') {
        add(problems, 1, "see whether 'ucx_info -d' or the program does the same without "
            "the library", "a process that looked at UCX %s: it was %s", probe->end,
            (probe->stage[0] == '\0') ? "just starting" : probe->stage);
        return 0;
    }

    if (probe->error[0] != '\0') {
        add(problems, 1, "install UCX, or put its folder into LD_LIBRARY_PATH",
            "no UCX can be loaded: %s", probe->error);
        return 0;
    }

    if (probe->unknown[0] != '\0') {
        add(problems, 1, "use another UCX, or a later ucx-predreg",
            "the library steps aside: %s", probe->unknown);
        return 0;
    }

    return probe->is_known;
}

/* Judge a line of the output for a complaint: a warning or an error in UCX's log, to
 * which the library writes as well. @param [in] tell  Whether to add a complaint to the
 * problems.
 * @return whether the line is a complaint. */
static int judge_line(const predreg_facts_t *facts, const char *line, int tell,
                      predreg_problems_t *problems)
{
    static const char warns[]  = "UCX  WARN  ";
    static const char errors[] = "UCX  ERROR ";
    static const char loader[] = "ld.so: object "; /* ld.so(8) */
    const char *why            = facts->probe.why;
    const char *found;

    found = strstr(line, loader);
    if (found != NULL) {
        found += strlen(loader);
        add(problems, strstr(found, PREDREG_LIBRARY) != NULL,
            "look at the file, and at " PREDREG_PRELOAD, "the dynamic loader: %s", found);
    }

    found = strstr(line, warns);
    if (found == NULL) {
        found = strstr(line, errors);
    }
    if ((found == NULL) || ((why[0] != '\0') && (strstr(found, why) != NULL))) {
        return 0;
    }

    if (tell) {
        /* UCX never names a knob of the library, so a line with the name of a knob is the
         * library's */
        add(problems, 0, (strstr(found, PREDREG_KNOB_PREFIX) != NULL) ?
            "change the variable, or unset it" :
            "see whether that is so without the library as well",
            "when started, the log of UCX says: %s", found + strlen(warns));
    }
    return 1;
}

/* Judge the start of UCX with the library */
static void judge_start(const predreg_facts_t *facts,
                        predreg_problems_t *problems)
{
    const predreg_probe_t *probe = &facts->probe;
    char *text                   = predreg_format("%s", (probe->printed == NULL) ?
                                                        "" : probe->printed);
    unsigned complaints          = 0;

    if (probe->aside[0] != '\0') {
        add(problems, 1, probe->advice, "the library steps aside: %s", probe->why);
    }

    predreg_for_each_word(line, text, "\n") {
        complaints += judge_line(facts, line, complaints < MAX_COMPLAINTS, problems);
    }
    free(text);

    if (!probe->is_started) {
        return;
    }

    if (probe->end[0] != '\0') {
        add(problems, 1, "see whether the program does the same without the library",
            "a process that started UCX with the library %s: it was %s", probe->end,
            probe->stage);
    } else if (probe->error[0] != '\0') {
        add(problems, 1, "see whether it does without the library; look at UCX_TLS and "
            "UCX_NET_DEVICES", "UCX does not start: %s", probe->error);
    } else if (!probe->has_status) {
        add(problems, 1, "see whether programs here keep LD_PRELOAD",
            "the library has said nothing in a process that started UCX");
    }

    if ((probe->events[0] != '\0') && strcmp(probe->events, PREDREG_PROBE_DELIVERED) &&
        (predreg_facts_outcome(facts) != PREDREG_OUTCOME_ASIDE)) {
        add(problems, 1, "unset UCX_MEM_EVENTS and UCX_MEM_MMAP_HOOK_MODE, here and in "
            "ucx.conf", "UCX's memory hooks do not tell of unmapped memory: %s",
            probe->events);
    }
}

/* Add the problem that UCX has no domain to be managed here, and a remedy */
static void judge_no_domain(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    const ucs_config_names_array_t *names = &facts->knobs.components;
    const predreg_probe_t *probe          = &facts->probe;
    char *chosen                          = predreg_format("%s", "");
    char *others                          = predreg_format("%s", "");
    char *advice;
    unsigned i;

    for (i = 0; i < names->count; ++i) {
        chosen = predreg_list(chosen, names->names[i]);
    }
    for (i = 0; i < probe->num_domains; ++i) {
        if (probe->domains[i].registers && probe->domains[i].needs_handles) {
            others = predreg_list(others, probe->domains[i].name);
        }
    }

    advice = (others[0] != '\0') ?
             predreg_format("let " PREDREG_KNOB_PREFIX "COMPONENTS name the component of "
                            "one that there is: %s", others) :
             (facts->host.devices[0] == '\0') ?
             predreg_format("run it where there is an RDMA device: the kernel has none "
                            "here") :
             predreg_format("the kernel has %s: see whether 'ucx_info -d' lists it, and "
                            "'ibv_devinfo' can open it", facts->host.devices);
    add(problems, 1, advice, "nothing would be managed: UCX has no memory domain of %s here "
        "whose transports need registrations",
        (chosen[0] == '\0') ? "no component" : chosen);
    free(advice);
    free(others);
    free(chosen);
}

static void judge_domains(const predreg_facts_t *facts,
                          predreg_problems_t *problems)
{
    const predreg_probe_domain_t *domain;
    unsigned i;

    /* Wrong knobs leave the wanted components unknown */
    if ((facts->knob_errors[0] != '\0') ||
        (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    if (predreg_facts_num_managed(facts) == 0) {
        judge_no_domain(facts, problems);
    } else if (predreg_facts_outcome(facts) == PREDREG_OUTCOME_NOTHING) {
        add(problems, 1, "look at UCX_TLS and UCX_NET_DEVICES, which choose what it uses",
            "nothing would be managed: UCX does not use the memory domains that could "
            "be");
    }

    for (i = 0; i < facts->probe.num_domains; ++i) {
        domain = &facts->probe.domains[i];
        if (domain->no_cost[0] != '\0') {
            add(problems, 0, "look at the limit of locked memory, and see whether UCX works "
                "without the library", "%s does not register %s", domain->name,
                domain->no_cost);
        }
    }
}

/* @return how much memory UCX registers for itself, as far as is known, bytes. The probe
 *         does not connect, and transports make pools when they connect */
static uint64_t pools(const predreg_facts_t *facts)
{
    uint64_t bytes = ucs_max(facts->probe.pinned, 0);
    unsigned i;

    for (i = 0; i < facts->probe.num_domains; ++i) {
        if (!strcmp(facts->probe.domains[i].component, IB_COMPONENT)) {
            bytes = ucs_max(bytes, IB_POOLS);
        }
    }

    return bytes;
}

/* Judge whether the limit of locked memory has room for the registrations of a program
 * beside the registrations of UCX for itself */
static void judge_limit(const predreg_facts_t *facts,
                        predreg_problems_t *problems)
{
    const uint64_t limit = facts->host.memlock;
    const uint64_t taken = pools(facts);
    char size[32], taken_size[32];

    if (facts->host.is_unlimited || (limit == UINT64_MAX) ||
        (predreg_facts_num_managed(facts) == 0) ||
        (limit >= taken + UCS_RCACHE_PRED_MIN_BYTES)) {
        return;
    }

    ucs_memunits_to_str(limit, size, sizeof(size));
    ucs_memunits_to_str(taken, taken_size, sizeof(taken_size));
    add(problems, 0, "raise 'ulimit -l', " WHERE_LIMIT, "a process may lock only %s%s%s",
        size, (taken == 0) ? "" : ", of which UCX's own pools may take up to ",
        (taken == 0) ? "" : taken_size);
}

/* @return whether libibverbs protects memory at forks. One before rdma-core 35 does not
 * tell: then the variables do that ask for it */
static int protects_forks(const predreg_facts_t *facts)
{
    const char *init = getenv("UCX_IB_FORK_INIT");

    return (facts->probe.fork[0] != '\0') ? !strcmp(facts->probe.fork, "on") :
           (getenv("RDMAV_FORK_SAFE") != NULL) || (getenv("IBV_FORK_SAFE") != NULL) ||
           ((init != NULL) && !strcmp(init, "y"));
}

/* Judge what makes a registration dear, or scarce, besides the limit of locked memory */
static void judge_registrations(const predreg_facts_t *facts,
                                predreg_problems_t *problems)
{
    const predreg_host_t *host = &facts->host;

    if (predreg_facts_num_managed(facts) == 0) {
        return;
    }

    if (protects_forks(facts)) {
        add(problems, 0, "set UCX_IB_FORK_INIT=n, and unset RDMAV_FORK_SAFE and "
            "IBV_FORK_SAFE, for programs that do not fork; Linux 5.12 with rdma-core 35 does "
            "without", "fork protection is on: each registration takes longer, and up to two "
            "of the mappings of the process");
        if (getenv("RDMAV_HUGEPAGES_SAFE") != NULL) {
            add(problems, 0, "unset it, unless buffers are in huge pages",
                "with RDMAV_HUGEPAGES_SAFE each registration reads the list of all mappings, "
                "and takes some 5 ms in place of 0.1 ms");
        }
    }

    if ((host->max_mappings > 0) && (host->mappings > host->max_mappings / 2)) {
        add(problems, 0, "raise vm.max_map_count", "a process with the library has %lu of at "
            "most %lu mappings", host->mappings, host->max_mappings);
    }

    if (host->max_objects > 0) {
        add(problems, 0, "raise rdma.max of the group: the library keeps below it",
            "the processes of the control group together may have "
            "%lu registrations, queues and other objects of an RDMA device",
            host->max_objects);
    }

    if (host->no_pressure) {
        add(problems, 0, "start the kernel with psi=1", "the kernel does not tell when "
            "memory is short: there is no /proc/pressure/memory");
    }
}

/* Judge a change of UCX's protocols by the library: programs may become slower, and nothing
 * else says why */
static void judge_protocols(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    char advice[160], size[32];

    if (!predreg_facts_protocols_differ(facts)) {
        return;
    }

    snprintf(advice, sizeof(advice), "raise 'ulimit -l' to %lu and more, " WHERE_LIMIT,
             IB_POOLS >> 10);
    ucs_memunits_to_str(facts->host.memlock, size, sizeof(size));
    add(problems, 0, advice, "the library sets UCX_PROTO_ENABLE=%s, since a process may lock "
        "only %s: UCX chooses its protocols as versions before 1.16 do",
        facts->probe.protocols, size);
}

/* Open MPI may communicate without UCX, and Debian's does: its settings have pml = ^ucx */
static void judge_mpi(const predreg_facts_t *facts,
                      predreg_problems_t *problems)
{
    if ((facts->target.kind == PREDREG_TARGET_LAUNCHER) &&
        (strstr(facts->host.mpi, "Open MPI") != NULL) &&
        !facts->chooses_pml && (getenv("OMPI_MCA_pml") == NULL)) {
        add(problems, 0, "mpirun --mca pml ucx, or set OMPI_MCA_pml=ucx", "Open MPI may "
            "communicate without UCX: nothing tells it to use UCX");
    }
}

void predreg_judge(const predreg_facts_t *facts, predreg_problems_t *problems)
{
    judge_target(facts, problems);
    judge_installation(facts, problems);
    if (judge_ucx(facts, problems)) {
        judge_start(facts, problems);
        judge_domains(facts, problems);
    }
    judge_limit(facts, problems);
    judge_registrations(facts, problems);
    judge_protocols(facts, problems);
    judge_mpi(facts, problems);
}
