/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "facts.h"

#include <ucs/base/page.h>

#include <ucs/sys/math.h>

#include <stdio.h>
#include <string.h>


int predreg_facts_is_managed(const predreg_facts_t *facts,
                             const predreg_probe_domain_t *domain)
{
    return domain->registers && domain->needs_handles &&
           uct_predreg_is_managed_component(&facts->knobs, domain->component) &&
           (facts->knobs.policy != UCS_RCACHE_PRED_POLICY_LEAVE_PINNED);
}

unsigned predreg_facts_num_managed(const predreg_facts_t *facts)
{
    unsigned count = 0;
    unsigned i;

    for (i = 0; i < facts->asked.num_domains; ++i) {
        count += predreg_facts_is_managed(facts, &facts->asked.domains[i]);
    }

    return count;
}

int predreg_facts_is_used(const predreg_facts_t *facts,
                          const predreg_probe_domain_t *domain)
{
    const char *used = facts->rehearsal.used;
    size_t length    = strlen(domain->name);
    const char *name;

    for (name = used; *name != '\0'; name += strcspn(name, ",") + 1) {
        if (!strncmp(name, domain->name, length) && (name[length] == ',')) {
            return 1;
        }
    }

    return used[0] == '\0';
}

/* Whether UCP keeps a domain open that is managed */
static int has_used_domain(const predreg_facts_t *facts)
{
    const predreg_probe_domain_t *domain;
    unsigned i;

    for (i = 0; i < facts->asked.num_domains; ++i) {
        domain = &facts->asked.domains[i];
        if (predreg_facts_is_managed(facts, domain) &&
            predreg_facts_is_used(facts, domain)) {
            return 1;
        }
    }

    return 0;
}

predreg_outcome_t predreg_facts_outcome(const predreg_facts_t *facts)
{
    const predreg_probe_t *rehearsal = &facts->rehearsal;
    const char *printed              = rehearsal->printed;

    if (!facts->is_rehearsed || (printed == NULL)) {
        return PREDREG_OUTCOME_UNKNOWN;
    }

    /* The messages of preload.c, of core/state.c and of core/summary.c */
    if ((strstr(printed, "stepping aside") != NULL) ||
        (strstr(printed, "steps aside") != NULL)) {
        return PREDREG_OUTCOME_ASIDE;
    }

    /* Later the library says what it has managed, which is not all that it
     * would have if UCX had not failed */
    if ((rehearsal->end[0] != '\0') || (rehearsal->error[0] != '\0')) {
        return PREDREG_OUTCOME_UNKNOWN;
    }

    if (strstr(printed, ": nothing to manage") != NULL) {
        return PREDREG_OUTCOME_NOTHING;
    }

    if (strstr(printed, ": leave-pinned, uses ") != NULL) {
        return PREDREG_OUTCOME_LEFT;
    }

    if (strstr(printed, ", uses ") == NULL) {
        return PREDREG_OUTCOME_UNKNOWN;
    }

    /* UCP opens all domains at first, to see what they can do */
    return has_used_domain(facts) ? PREDREG_OUTCOME_MANAGED :
                                    PREDREG_OUTCOME_NOTHING;
}

const uct_predreg_compat_t *predreg_facts_compat(const predreg_facts_t *facts)
{
    return facts->asked.has_version ?
           uct_predreg_compat_select(facts->asked.major, facts->asked.minor) :
           NULL;
}

int predreg_facts_protocols_differ(const predreg_facts_t *facts)
{
    const char *alone = facts->asked.protocols;
    const char *tried = facts->rehearsal.protocols;

    return facts->is_rehearsed && (alone[0] != '\0') && (tried[0] != '\0') &&
           strcmp(alone, tried);
}

void predreg_facts_ucx_settings(const predreg_facts_t *facts, char *text,
                                size_t max)
{
    static const char words[] = ", of UCX's cache "; /* core/summary.c */
    const char *found         = NULL;

    if (facts->is_rehearsed && (facts->rehearsal.printed != NULL)) {
        found = strstr(facts->rehearsal.printed, words);
    }

    text[0] = '\0';
    if (found != NULL) {
        found += strlen(words);
        snprintf(text, max, "%.*s", (int)strcspn(found, "\n"), found);
    }
}

unsigned predreg_facts_idle(const predreg_facts_t *facts)
{
    unsigned needed = facts->processes + facts->host.managed;

    return (facts->host.processors > needed) ?
           (facts->host.processors - needed) : 0;
}

predreg_facts_cost_t predreg_facts_cost(double small, double large,
                                        const predreg_probe_domain_t *domain)
{
    const size_t page         = ucs_rcache_pred_page_size();
    predreg_facts_cost_t cost = {.op = small, .page = 0};
    size_t small_pages        = domain->small.bytes / page;
    size_t large_pages        = domain->large.bytes / page;

    /* Noise may make the large one cheaper, or its pages dearer than all of the
     * small one */
    if ((large_pages > small_pages) && (large > small)) {
        cost.page = (large - small) / (large_pages - small_pages);
        cost.op   = ucs_max(small - (cost.page * small_pages), 0);
    }

    return cost;
}
