/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "info.h"

#include <tools/predreg/common/command.h>
#include <ucs/base/json.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NSEC_PER_USEC 1000.
#define ROW           "  %-16s "

/* The lengths of Table 2 of Rashti and Afsahi, and shorter ones */
static const size_t lengths[] = {
    128, 256, 512, 1024, 2048, 3072, 4096, 5120, 6144, 7168, 8192
};


/* A row of the table: what follows from measured costs for messages of a length */
typedef struct {
    double   copy;       /* Time to copy a message of this length, ns (C_m of the paper) */
    double   reg;        /* Time to register and deregister a buffer, us (R_m) */
    uint32_t break_even; /* A buffer with more sends than this is worth a registration;
                            UCS_REUSE_NEVER: none is */
    uint32_t after;      /* Number of sends after which the library registers a buffer;
                            UCS_REUSE_NEVER: it never does */
} row_t;

static row_t row_of(const predreg_facts_t *facts, const ucs_reuse_costs_t *costs,
                    size_t length)
{
    uint32_t after[UCS_REUSE_NUM_CLASSES];

    ucs_reuse_thresholds(costs, facts->knobs.eager_fraction / 100, after);
    return (row_t){
        .copy       = costs->copy[ucs_reuse_class(length)],
        .reg        = ucs_reuse_registration(costs, length) / NSEC_PER_USEC,
        .break_even = ucs_reuse_break_even(costs, length),
        .after      = after[ucs_reuse_class(length)]
    };
}

size_t predreg_calibrate_pays_from(const ucs_reuse_costs_t *costs)
{
    unsigned i;

    /* A longer copy never takes less time. So if registering pays for a length, it pays
     * for all longer ones, and the first length for which it pays is the answer */
    for (i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        if (ucs_reuse_break_even(costs, (i + 1) * UCS_REUSE_STEP) !=
            UCS_REUSE_NEVER) {
            return (i * UCS_REUSE_STEP) + 1;
        }
    }

    return 0;
}

static int has_costs(const predreg_facts_t *facts)
{
    return facts->probe.has_small &&
           (predreg_facts_outcome(facts) == PREDREG_OUTCOME_MANAGED);
}

/* Find the costs that small sends would have if they registered memory with a single
 * domain: a registration costs as much as measured with the domain, and all else as much
 * as measured with UCP.
 * @return whether the costs are known. */
static int domain_costs(const predreg_facts_t *facts, const predreg_probe_domain_t *domain,
                        ucs_reuse_costs_t *costs)
{
    predreg_facts_cost_t reg, dereg;

    if (!has_costs(facts) || !predreg_facts_is_measured(domain)) {
        return 0;
    }

    reg   = predreg_facts_cost(domain->small.reg, domain->large.reg, domain);
    dereg = predreg_facts_cost(domain->small.dereg, domain->large.dereg, domain);

    *costs          = facts->probe.costs;
    costs->reg_call = (reg.op + dereg.op) * NSEC_PER_USEC;
    costs->reg_page = (reg.page + dereg.page) * NSEC_PER_USEC;
    return 1;
}

static const char *sends_text(uint32_t sends, char text[16])
{
    if (sends == UCS_REUSE_NEVER) {
        return "never";
    }

    snprintf(text, 16, "%u", sends);
    return text;
}

static void print_table(const predreg_facts_t *facts,
                        const ucs_reuse_costs_t *costs)
{
    size_t from = predreg_calibrate_pays_from(costs);
    char break_even[16], after[16];
    row_t row;
    unsigned i;

    printf(ROW "%.2f us + %.3f us a page, with its deregistration\n",
           "registration", costs->reg_call / NSEC_PER_USEC,
           costs->reg_page / NSEC_PER_USEC);
    printf(ROW "%.1f ns\n", "lookup", costs->lookup);
    printf("  %7s %10s %16s %18s %16s\n", "bytes", "copy, ns",
           "registration, us", "break-even, sends", "registered after");
    for (i = 0; i < ucs_static_array_size(lengths); ++i) {
        row = row_of(facts, costs, lengths[i]);
        printf("  %7zu %10.1f %16.2f %18s %16s\n", lengths[i], row.copy, row.reg,
               sends_text(row.break_even, break_even), sends_text(row.after, after));
    }

    if (from == 0) {
        printf("  It never pays: finding a buffer takes as long as copying "
               "%u bytes.\n", UCS_REUSE_MAX_LENGTH);
    } else {
        printf("  It pays from %zu bytes on.\n", from);
    }
}

void predreg_calibrate_print_text(const predreg_facts_t *facts)
{
    const predreg_probe_domain_t *domain;
    ucs_reuse_costs_t costs;
    unsigned i;

    if (facts->probe.has_version) {
        printf("UCX %u.%u.%u; a buffer is registered after %g %% of the "
               "break-even number of sends\n\n", facts->probe.major,
               facts->probe.minor, facts->probe.release,
               facts->knobs.eager_fraction);
    }

    if (has_costs(facts)) {
        printf("UCP, with all of its memory domains: what a send takes, put and "
               "get as well\n");
        print_table(facts, &facts->probe.costs);
        printf("\n");
    }

    for (i = 0; i < facts->probe.num_domains; ++i) {
        domain = &facts->probe.domains[i];
        printf("%s: %s%s%s\n", predreg_facts_domain_name(domain),
               (domain->failure[0] != '\0') ? "cannot be opened: " :
               (domain->no_cost[0] != '\0') ? "refused: " :
               predreg_facts_domain_text(facts, domain), domain->failure,
               domain->no_cost);
        if (domain_costs(facts, domain, &costs)) {
            print_table(facts, &costs);
        }
    }
}

/* Write the members of an object with costs */
static void put_table(ucs_json_t *json, const predreg_facts_t *facts,
                      const ucs_reuse_costs_t *costs)
{
    size_t from = predreg_calibrate_pays_from(costs);
    row_t row;
    unsigned i;

    ucs_json_printf(json, "registration_call_us", "%.4f", costs->reg_call / NSEC_PER_USEC);
    ucs_json_printf(json, "registration_page_us", "%.4f", costs->reg_page / NSEC_PER_USEC);
    ucs_json_printf(json, "lookup_ns", "%.3f", costs->lookup);
    predreg_json_known(json, "pays_from", from > 0, from, 0);
    ucs_json_begin(json, "lengths", '[');
    for (i = 0; i < ucs_static_array_size(lengths); ++i) {
        row = row_of(facts, costs, lengths[i]);
        ucs_json_begin(json, NULL, '{');
        ucs_json_printf(json, "bytes", "%zu", lengths[i]);
        ucs_json_printf(json, "copy_ns", "%.3f", row.copy);
        ucs_json_printf(json, "registration_us", "%.4f", row.reg);
        predreg_json_known(json, "break_even", row.break_even != UCS_REUSE_NEVER,
                           row.break_even, 0);
        predreg_json_known(json, "registered_after", row.after != UCS_REUSE_NEVER,
                           row.after, 0);
        ucs_json_end(json, '}');
    }
    ucs_json_end(json, ']');
}

void predreg_calibrate_print_json(const predreg_facts_t *facts)
{
    const predreg_probe_t *probe = &facts->probe;
    ucs_json_t *json             = predreg_json_begin("calibrate");
    ucs_reuse_costs_t costs;
    char version[64];
    unsigned i;

    ucs_json_printf(json, "fraction", "%g", facts->knobs.eager_fraction);
    snprintf(version, sizeof(version), "%u.%u.%u", probe->major, probe->minor,
             probe->release);
    ucs_json_string(json, "ucx", probe->has_version ? version : NULL);
    if (has_costs(facts)) {
        ucs_json_begin(json, "ucp", '{');
        put_table(json, facts, &probe->costs);
        ucs_json_end(json, '}');
    } else {
        ucs_json_string(json, "ucp", NULL);
    }

    ucs_json_begin(json, "domains", '[');
    for (i = 0; i < probe->num_domains; ++i) {
        ucs_json_begin(json, NULL, '{');
        ucs_json_string(json, "component", probe->domains[i].component);
        ucs_json_string(json, "name", probe->domains[i].name);
        ucs_json_bool(json, "managed", predreg_facts_manages(facts, &probe->domains[i]));
        if (domain_costs(facts, &probe->domains[i], &costs)) {
            put_table(json, facts, &costs);
        }
        ucs_json_end(json, '}');
    }
    ucs_json_end(json, ']');
    predreg_json_print(json);
}

/* If the probe has not measured the costs of UCP's sends, print the problems that info
 * would print. @return the exit status. */
static int complain(const predreg_facts_t *facts)
{
    predreg_problems_t problems = {};
    unsigned i;

    if (has_costs(facts)) {
        return EXIT_SUCCESS;
    }

    predreg_judge(facts, &problems);
    for (i = 0; i < problems.num_stops; ++i) {
        predreg_error("%s", problems.list[i].what);
    }

    predreg_error("what small sends cost could not be measured; 'ucx_predreg info' says "
                  "more");
    predreg_problems_cleanup(&problems);
    return EXIT_FAILURE;
}

int predreg_calibrate_from(const char *folder, int argc, char **argv)
{
    predreg_facts_t facts = {};
    predreg_info_opts_t opts;
    int status;

    status = predreg_info_parse(
            "calibrate",
            "Measure what it takes here to register a small buffer and to copy\n"
            "it, and say from how many sends on registering it pays. With\n"
            "UCX_RCACHE_PRED_EAGER=y each process measures that for itself.\n"
            "COMMAND is not run: this is about the UCX that it would load, as\n"
            "with info.\n",
            "The exit status is 0 if there is a result, 1 if there is none, 2 if\n"
            "an argument is bad, and 127 if there is no COMMAND of that name.\n",
            argc, argv, &opts);
    if (status != 0) {
        return status;
    }

    status = predreg_facts_find(folder, &opts, PREDREG_PROBE_SMALL, &facts);
    if (status != 0) {
        return status;
    }

    if (facts.knob_errors[0] != '\0') {
        predreg_for_each_word(line, facts.knob_errors, "\n") {
            status = predreg_error("%s", line);
        }
        goto out;
    }

    if (opts.json) {
        predreg_calibrate_print_json(&facts);
    } else {
        predreg_calibrate_print_text(&facts);
    }
    status = complain(&facts);

out:
    predreg_facts_cleanup(&facts);
    return status;
}

int predreg_calibrate(int argc, char **argv)
{
    return predreg_calibrate_from(NULL, argc, argv);
}
