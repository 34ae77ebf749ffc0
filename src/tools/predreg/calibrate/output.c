/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "output.h"
#include "table.h"

#include <tools/predreg/info/json.h>
#include <tools/predreg/info/text.h>

#include <stdio.h>
#include <string.h>

#define NSEC_PER_USEC 1000.
#define ROW           "  %-16s "


static double fraction(const predreg_facts_t *facts)
{
    return facts->knobs.eager_fraction / 100;
}

/* Whether the costs are those with the library. What UCP takes without it is something
 * else */
static int has_costs(const predreg_facts_t *facts)
{
    return facts->rehearsal.has_small &&
           (predreg_facts_outcome(facts) == PREDREG_OUTCOME_MANAGED);
}

static const char *sends_text(uint32_t sends, char *text, size_t max)
{
    if (sends == UCS_REUSE_NEVER) {
        snprintf(text, max, "never");
    } else {
        snprintf(text, max, "%u", sends);
    }
    return text;
}

static void print_table(const predreg_facts_t *facts,
                        const ucs_reuse_costs_t *costs)
{
    size_t from = predreg_calibrate_pays_from(costs);
    predreg_calibrate_row_t rows[PREDREG_CALIBRATE_ROWS];
    char break_even[16], after[16];
    unsigned i;

    printf(ROW "%.2f us + %.3f us a page, with its deregistration\n",
           "registration", costs->reg_call / NSEC_PER_USEC,
           costs->reg_page / NSEC_PER_USEC);
    printf(ROW "%.1f ns\n", "lookup", costs->lookup);
    printf("  %7s %10s %16s %18s %16s\n", "bytes", "copy, ns",
           "registration, us", "break-even, sends", "registered after");
    predreg_calibrate_table(costs, fraction(facts), rows);
    for (i = 0; i < PREDREG_CALIBRATE_ROWS; ++i) {
        printf("  %7zu %10.1f %16.2f %18s %16s\n", rows[i].bytes, rows[i].copy,
               rows[i].reg / NSEC_PER_USEC,
               sends_text(rows[i].break_even, break_even, sizeof(break_even)),
               sends_text(rows[i].after, after, sizeof(after)));
    }

    if (from == 0) {
        printf("  It never pays: finding a buffer takes as long as copying "
               "%u bytes.\n", UCS_REUSE_MAX_LENGTH);
    } else {
        printf("  It pays from %zu bytes on.\n", from);
    }
}

static void print_domain(const predreg_facts_t *facts,
                         const predreg_probe_domain_t *domain)
{
    char name[128];

    snprintf(name, sizeof(name), "%s%s%s", domain->component,
             strcmp(domain->component, domain->name) ? " " : "",
             strcmp(domain->component, domain->name) ? domain->name : "");
    if (domain->failure[0] != '\0') {
        printf("%s: cannot be opened: %s\n", name, domain->failure);
    } else if (domain->has_small) {
        printf("%s: %s\n", name, predreg_info_domain_text(facts, domain));
        print_table(facts, &domain->costs);
    } else if (domain->no_cost[0] != '\0') {
        printf("%s: refused: %s\n", name, domain->no_cost);
    } else {
        printf("%s: %s\n", name, predreg_info_domain_text(facts, domain));
    }
}

void predreg_calibrate_print_text(const predreg_facts_t *facts)
{
    const predreg_probe_t *ucp = &facts->rehearsal;
    unsigned i;

    if (facts->asked.has_version) {
        printf("UCX %u.%u.%u; a buffer is registered after %g %% of the "
               "break-even number of sends\n\n", facts->asked.major,
               facts->asked.minor, facts->asked.release,
               facts->knobs.eager_fraction);
    }

    if (has_costs(facts)) {
        printf("UCP, with all of its memory domains: what a send takes, put and "
               "get as well\n");
        print_table(facts, &ucp->costs);
        printf("\n");
    }

    for (i = 0; i < facts->asked.num_domains; ++i) {
        print_domain(facts, &facts->asked.domains[i]);
    }
}


static void put_sends(const char *name, uint32_t sends)
{
    if (sends == UCS_REUSE_NEVER) {
        printf(",\"%s\":null", name);
    } else {
        printf(",\"%s\":%u", name, sends);
    }
}

/* The members that costs and tables have, with a comma before the first */
static void put_table(const predreg_facts_t *facts,
                      const ucs_reuse_costs_t *costs)
{
    size_t from = predreg_calibrate_pays_from(costs);
    predreg_calibrate_row_t rows[PREDREG_CALIBRATE_ROWS];
    unsigned i;

    printf(",\"registration_call_us\":%.4f,\"registration_page_us\":%.4f,"
           "\"lookup_ns\":%.3f", costs->reg_call / NSEC_PER_USEC,
           costs->reg_page / NSEC_PER_USEC, costs->lookup);
    if (from == 0) {
        printf(",\"pays_from\":null");
    } else {
        printf(",\"pays_from\":%zu", from);
    }

    printf(",\"lengths\":[");
    predreg_calibrate_table(costs, fraction(facts), rows);
    for (i = 0; i < PREDREG_CALIBRATE_ROWS; ++i) {
        printf("%s{\"bytes\":%zu,\"copy_ns\":%.3f,\"registration_us\":%.4f",
               (i == 0) ? "" : ",", rows[i].bytes, rows[i].copy,
               rows[i].reg / NSEC_PER_USEC);
        put_sends("break_even", rows[i].break_even);
        put_sends("registered_after", rows[i].after);
        printf("}");
    }
    printf("]");
}

static void put_string(const char *name, const char *value)
{
    printf(",\"%s\":", name);
    if (value[0] == '\0') {
        printf("null");
    } else {
        predreg_json_string(stdout, value);
    }
}

static void put_domain(const predreg_facts_t *facts,
                       const predreg_probe_domain_t *domain)
{
    printf("{\"component\":");
    predreg_json_string(stdout, domain->component);
    put_string("name", domain->name);
    printf(",\"managed\":%s",
           (predreg_facts_is_managed(facts, domain) &&
            predreg_facts_is_used(facts, domain)) ? "true" : "false");
    if (domain->has_small) {
        put_table(facts, &domain->costs);
    }
    printf("}");
}

void predreg_calibrate_print_json(const predreg_facts_t *facts)
{
    const predreg_probe_t *ucp = &facts->rehearsal;
    char version[64]           = "";
    unsigned i;

    if (facts->asked.has_version) {
        snprintf(version, sizeof(version), "%u.%u.%u", facts->asked.major,
                 facts->asked.minor, facts->asked.release);
    }

    printf("{\"fraction\":%g", facts->knobs.eager_fraction);
    put_string("ucx", version);
    printf(",\"ucp\":");
    if (has_costs(facts)) {
        printf("{\"fraction\":%g", facts->knobs.eager_fraction);
        put_table(facts, &ucp->costs);
        printf("}");
    } else {
        printf("null");
    }

    printf(",\"domains\":[");
    for (i = 0; i < facts->asked.num_domains; ++i) {
        printf("%s", (i == 0) ? "" : ",");
        put_domain(facts, &facts->asked.domains[i]);
    }
    printf("]}\n");
}
