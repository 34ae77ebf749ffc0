/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "judge.h"
#include "messages.h"

#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/message.h>

#include <ucs/rcache_pred/api/rcache_pred.h>

#include <ucs/sys/math.h>
#include <ucs/sys/string.h>

#include <stdlib.h>
#include <string.h>

/* What UCX's own pools take of the limit of locked memory with an adapter, once
 * a process communicates: 33 to 76 MB were seen with UCX 1.13 and 1.18 */
#define IB_COMPONENT "ib"
#define IB_POOLS     (80ul << 20)

/* The limit of a shell is not that of the jobs of a batch system */
#define WHERE_LIMIT \
    "for jobs where they are started (limits.conf, LimitMEMLOCK= of the service)"


/* Append a problem with copies of constant texts, since the list frees its
 * texts */
static void add(predreg_problems_t *problems, int stops, const char *what,
                const char *advice)
{
    predreg_problems_add(problems, stops, predreg_format("%s", what),
                         predreg_format("%s", advice));
}

/* The command itself */
static void judge_target(const predreg_facts_t *facts,
                         predreg_problems_t *problems)
{
    const predreg_target_t *target = &facts->target;

    if (target->kind == PREDREG_TARGET_STATIC) {
        predreg_problems_add(
                problems, 1,
                predreg_format("%s is linked statically: nothing can be "
                               "preloaded into it", facts->command),
                predreg_format("link it with the shared libraries of UCX"));
    }

    if (target->is_privileged) {
        predreg_problems_add(
                problems, 1,
                predreg_format("%s has rights that its user lacks: nothing is "
                               "preloaded into it, or the library steps aside",
                               target->path),
                predreg_format("run a copy of it without set-user-ID, "
                               "set-group-ID and capabilities"));
    }

    if (target->missing != NULL) {
        predreg_problems_add(
                problems, 1,
                predreg_format("%s needs %s, which is not found",
                               facts->command, target->missing),
                predreg_format("install UCX, or put its folder into "
                               "LD_LIBRARY_PATH"));
    }
}

/* Whether the program was given what it needs */
static void judge_installation(const predreg_facts_t *facts,
                               predreg_problems_t *problems)
{
    char *text, *line, *saveptr;

    if (facts->library == NULL) {
        predreg_problems_add(problems, 1,
                             predreg_format("%s", facts->library_errors),
                             predreg_format("install ucx-predreg again, or "
                                            "name the library with "
                                            "--library PATH"));
    }

    if (facts->probe_path == NULL) {
        add(problems, 1, "ucx_predreg_probe was not found, so that UCX was not "
            "looked at", "install ucx-predreg again");
    }

    text = predreg_format("%s", facts->knob_errors);
    for (line = strtok_r(text, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
        predreg_problems_add(problems, 1, predreg_format("%s", line),
                             predreg_format("correct the variable, or unset "
                                            "it"));
    }
    free(text);

    if (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED) {
        add(problems, 1, PREDREG_KNOB_PREFIX "POLICY=leave-pinned leaves "
            "everything to UCX and its own cache",
            "unset it for prediction");
    }
}

/* UCX as it is */
static void judge_ucx(const predreg_facts_t *facts,
                      predreg_problems_t *problems)
{
    const predreg_probe_t *ucx = &facts->asked;

    if (ucx->end[0] != '\0') {
        predreg_problems_add(
                problems, 1,
                predreg_format("a process that looked at UCX %s: it was %s",
                               ucx->end, (ucx->stage[0] == '\0') ?
                                         "just starting" : ucx->stage),
                predreg_format("see whether 'ucx_info -d' or the program does "
                               "the same without the library"));
        return;
    }

    if (ucx->error[0] != '\0') {
        predreg_problems_add(
                problems, 1,
                predreg_format("no UCX can be loaded: %s", ucx->error),
                predreg_format("install UCX, or put its folder into "
                               "LD_LIBRARY_PATH"));
        return;
    }

    if (ucx->unknown[0] != '\0') {
        predreg_problems_add(
                problems, 1,
                predreg_format("the library steps aside: %s", ucx->unknown),
                predreg_format("use another UCX, or a later ucx-predreg"));
        return;
    }

    if ((ucx->events[0] != '\0') &&
        strcmp(ucx->events, PREDREG_PROBE_DELIVERED) &&
        (predreg_facts_outcome(facts) != PREDREG_OUTCOME_ASIDE)) {
        predreg_problems_add(
                problems, 1,
                predreg_format("UCX's memory hooks do not tell of unmapped "
                               "memory: %s", ucx->events),
                predreg_format("unset UCX_MEM_EVENTS and "
                               "UCX_MEM_MMAP_HOOK_MODE, here and in ucx.conf"));
    }
}

/* Append a name to a list, which is freed */
static char *add_name(char *names, const char *name)
{
    char *longer = predreg_format("%s%s%s", names,
                                  (names[0] == '\0') ? "" : ", ", name);

    free(names);
    return longer;
}

/* The names of the components that are to be managed */
static char *chosen_components(const predreg_facts_t *facts)
{
    const ucs_config_names_array_t *chosen = &facts->knobs.components;
    char *names                            = predreg_format("%s", "");
    unsigned i;

    for (i = 0; i < chosen->count; ++i) {
        names = add_name(names, chosen->names[i]);
    }

    return names;
}

/* The names of the domains that would be managed if their components were */
static char *other_domains(const predreg_facts_t *facts)
{
    char *names = predreg_format("%s", "");
    const predreg_probe_domain_t *domain;
    unsigned i;

    for (i = 0; i < facts->asked.num_domains; ++i) {
        domain = &facts->asked.domains[i];
        if (domain->registers && domain->needs_handles) {
            names = add_name(names, domain->name);
        }
    }

    return names;
}

/* Say that UCX has no domain here that could be managed, and what would give it
 * one */
static void judge_no_domain(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    char *chosen = chosen_components(facts);
    char *others = other_domains(facts);
    char *advice;

    if (others[0] != '\0') {
        advice = predreg_format("let " PREDREG_KNOB_PREFIX "COMPONENTS name "
                                "the component of one that there is: %s",
                                others);
    } else if (facts->host.devices[0] == '\0') {
        advice = predreg_format("run it where there is an RDMA device: the "
                                "kernel has none here");
    } else {
        advice = predreg_format("the kernel has %s: see whether 'ucx_info -d' "
                                "lists it, and 'ibv_devinfo' can open it",
                                facts->host.devices);
    }

    predreg_problems_add(
            problems, 1,
            predreg_format("nothing would be managed: UCX has no memory domain "
                           "of %s here whose transports need registrations",
                           (chosen[0] == '\0') ? "no component" : chosen),
            advice);
    free(others);
    free(chosen);
}

static void judge_domains(const predreg_facts_t *facts,
                          predreg_problems_t *problems)
{
    const predreg_probe_domain_t *domain;
    unsigned i;

    /* What is to be managed is not known if the knobs are not */
    if (!facts->asked.is_known || (facts->asked.end[0] != '\0') ||
        (facts->knob_errors[0] != '\0') ||
        (facts->knobs.policy == UCS_RCACHE_PRED_POLICY_LEAVE_PINNED)) {
        return;
    }

    if (predreg_facts_num_managed(facts) == 0) {
        judge_no_domain(facts, problems);
    } else if (predreg_facts_outcome(facts) == PREDREG_OUTCOME_NOTHING) {
        add(problems, 1, "nothing would be managed: UCX does not use the "
            "memory domains that could be",
            "look at UCX_TLS and UCX_NET_DEVICES, which choose what it uses");
    }

    for (i = 0; i < facts->asked.num_domains; ++i) {
        domain = &facts->asked.domains[i];
        if (domain->no_cost[0] != '\0') {
            predreg_problems_add(
                    problems, 0,
                    predreg_format("%s does not register %s", domain->name,
                                   domain->no_cost),
                    predreg_format("look at the limit of locked memory, and "
                                   "see whether UCX works without the "
                                   "library"));
        }
    }
}

static void judge_rehearsal(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    const predreg_probe_t *rehearsal = &facts->rehearsal;

    if (!facts->is_rehearsed) {
        return;
    }

    predreg_messages_judge(facts, problems);
    if (rehearsal->end[0] != '\0') {
        predreg_problems_add(
                problems, 1,
                predreg_format("a process that started UCX with the library "
                               "%s: it was %s", rehearsal->end,
                               (rehearsal->stage[0] == '\0') ?
                               "just starting" : rehearsal->stage),
                predreg_format("see whether the program does the same without "
                               "the library"));
    } else if (rehearsal->error[0] != '\0') {
        predreg_problems_add(
                problems, 1,
                predreg_format("UCX does not start: %s", rehearsal->error),
                predreg_format("see whether it does without the library; look "
                               "at UCX_TLS and UCX_NET_DEVICES"));
    } else if (predreg_facts_outcome(facts) == PREDREG_OUTCOME_UNKNOWN) {
        add(problems, 1, "the library has said nothing in a process that "
            "started UCX", "see whether programs here keep LD_PRELOAD");
    }
}

/* What UCX registers for itself, as far as is known. The pools of transports
 * are only there when they connect, after all that was rehearsed */
static uint64_t pools(const predreg_facts_t *facts)
{
    uint64_t bytes = 0;
    unsigned i;

    if (facts->is_rehearsed && (facts->rehearsal.pinned > 0)) {
        bytes = facts->rehearsal.pinned;
    }

    for (i = 0; i < facts->asked.num_domains; ++i) {
        if (!strcmp(facts->asked.domains[i].component, IB_COMPONENT)) {
            bytes = ucs_max(bytes, IB_POOLS);
        }
    }

    return bytes;
}

/* Room for what a program registers, beside what UCX registers for itself */
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
    predreg_problems_add(
            problems, 0,
            predreg_format("a process may lock only %s%s%s", size,
                           (taken == 0) ? "" : ", of which UCX's own pools may "
                                               "take up to ",
                           (taken == 0) ? "" : taken_size),
            predreg_format("raise 'ulimit -l', " WHERE_LIMIT));
}

/* Programs may become slower by it, and nothing else says why */
static void judge_protocols(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    char size[32];

    if (!predreg_facts_protocols_differ(facts)) {
        return;
    }

    ucs_memunits_to_str(facts->host.memlock, size, sizeof(size));
    predreg_problems_add(
            problems, 0,
            predreg_format("the library sets UCX_PROTO_ENABLE=%s, since a "
                           "process may lock only %s: UCX chooses its protocols "
                           "as versions before 1.16 do",
                           facts->rehearsal.protocols, size),
            predreg_format("raise 'ulimit -l' to %lu and more, " WHERE_LIMIT,
                           IB_POOLS >> 10));
}

/* Open MPI may use something else than UCX, and Debian's does: its settings have
 * pml = ^ucx */
static void judge_mpi(const predreg_facts_t *facts,
                      predreg_problems_t *problems)
{
    if ((facts->target.kind == PREDREG_TARGET_LAUNCHER) &&
        (strstr(facts->host.mpi, "Open MPI") != NULL) &&
        !facts->chooses_pml && (getenv("OMPI_MCA_pml") == NULL)) {
        add(problems, 0, "Open MPI may communicate without UCX: nothing tells "
            "it to use UCX", "mpirun --mca pml ucx, or set OMPI_MCA_pml=ucx");
    }
}

void predreg_judge(const predreg_facts_t *facts, predreg_problems_t *problems)
{
    judge_target(facts, problems);
    judge_installation(facts, problems);
    judge_ucx(facts, problems);
    judge_rehearsal(facts, problems);
    judge_domains(facts, problems);
    judge_limit(facts, problems);
    judge_protocols(facts, problems);
    judge_mpi(facts, problems);
    predreg_problems_sort(problems);
}
