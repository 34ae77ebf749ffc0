/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "json.h"
#include "settings.h"

#include <ucs/rcache_pred/stats.h>

#include <limits.h>
#include <string.h>


/* @return how many bytes the character at the start of a string has, or 0 if it
 *         is no UTF-8 */
static unsigned utf8_length(const unsigned char *c)
{
    unsigned length = (c[0] < 0x80) ? 1 :
                      ((c[0] >= 0xc2) && (c[0] < 0xe0)) ? 2 :
                      ((c[0] >= 0xe0) && (c[0] < 0xf0)) ? 3 :
                      ((c[0] >= 0xf0) && (c[0] < 0xf5)) ? 4 : 0;
    unsigned i;

    for (i = 1; i < length; ++i) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }

    /* Too long forms, and the surrogates of UTF-16 */
    if (((c[0] == 0xe0) && (c[1] < 0xa0)) ||
        ((c[0] == 0xed) && (c[1] >= 0xa0)) ||
        ((c[0] == 0xf0) && (c[1] < 0x90)) ||
        ((c[0] == 0xf4) && (c[1] >= 0x90))) {
        return 0;
    }

    return length;
}

void predreg_json_string(FILE *stream, const char *string)
{
    const unsigned char *c = (const unsigned char*)string;
    unsigned length;

    fputc('"', stream);
    while (*c != '\0') {
        length = utf8_length(c);
        if ((*c == '"') || (*c == '\\')) {
            fprintf(stream, "\\%c", *c);
        } else if (*c < 0x20) {
            fprintf(stream, "\\u%04x", *c);
        } else if (length == 0) {
            fputc('?', stream);
        } else {
            fwrite(c, 1, length, stream);
        }
        c += (length == 0) ? 1 : length;
    }
    fputc('"', stream);
}

/* A member of an object, with a comma before it */
static void put_string(const char *name, const char *value)
{
    printf(",\"%s\":", name);
    if ((value == NULL) || (value[0] == '\0')) {
        printf("null");
    } else {
        predreg_json_string(stdout, value);
    }
}

static void put_bool(const char *name, int value)
{
    printf(",\"%s\":%s", name, value ? "true" : "false");
}

static void put_limit(const char *name, uint64_t value, uint64_t unlimited)
{
    if (value == unlimited) {
        printf(",\"%s\":null", name);
    } else {
        printf(",\"%s\":%lu", name, value);
    }
}

static void put_versions(const predreg_facts_t *facts)
{
    printf("{\"ucx_predreg\":\"%s\",\"built_with_ucx\":\"%s\"", PACKAGE_VERSION,
           PREDREG_UCX_VERSION_STRING);
    put_string("kernel", facts->host.kernel);
    put_string("distribution", facts->host.distribution);
    put_string("launcher", facts->host.launcher);
    put_string("mpi", facts->host.mpi);
    put_string("library", facts->library);
}

static void put_ucx(const predreg_facts_t *facts)
{
    static const char *const kinds[] = {
        [PREDREG_TARGET_NONE]     = NULL,
        [PREDREG_TARGET_LAUNCHER] = "launcher",
        [PREDREG_TARGET_LINKED]   = "linked",
        [PREDREG_TARGET_PLUGIN]   = "plugin",
        [PREDREG_TARGET_SCRIPT]   = "script",
        [PREDREG_TARGET_STATIC]   = "static"
    };
    const predreg_probe_t *ucx       = &facts->asked;
    unsigned i;

    put_string("command", facts->target.path);
    put_string("command_kind", kinds[facts->target.kind]);
    printf(",\"libraries\":[");
    for (i = 0; i < PREDREG_PROBE_LIBRARIES; ++i) {
        printf("%s", (i == 0) ? "" : ",");
        if (ucx->libraries[i][0] == '\0') {
            printf("null");
        } else {
            predreg_json_string(stdout, ucx->libraries[i]);
        }
    }
    printf("]");

    if (ucx->has_version) {
        printf(",\"ucx_version\":\"%u.%u.%u\"", ucx->major, ucx->minor,
               ucx->release);
    } else {
        printf(",\"ucx_version\":null");
    }
    put_bool("known", ucx->is_known);
    put_string("memory_events", ucx->events);
}

static void put_cost(const char *name, double small, double large,
                     const predreg_probe_domain_t *domain)
{
    predreg_facts_cost_t cost = predreg_facts_cost(small, large, domain);

    printf(",\"%s\":{\"us\":%.3f,\"us_a_page\":%.5f,\"count\":%u}", name,
           cost.op, cost.page, domain->small.count);
}

static void put_domains(const predreg_facts_t *facts)
{
    const predreg_probe_domain_t *domain;
    unsigned i;

    printf(",\"domains\":[");
    for (i = 0; i < facts->asked.num_domains; ++i) {
        domain = &facts->asked.domains[i];
        printf("%s{\"name\":", (i == 0) ? "" : ",");
        predreg_json_string(stdout, domain->name);
        put_string("component", domain->component);
        put_bool("registers", domain->registers);
        put_bool("needs_handles", domain->needs_handles);
        put_bool("managed", predreg_facts_is_managed(facts, domain) &&
                            predreg_facts_is_used(facts, domain));
        put_string("failure", domain->failure);
        if ((domain->small.count > 0) && (domain->large.count > 0)) {
            put_cost("registration", domain->small.reg, domain->large.reg,
                     domain);
            put_cost("deregistration", domain->small.dereg,
                     domain->large.dereg, domain);
        }
        put_string("not_measured", domain->no_cost);
        printf("}");
    }
    printf("]");
}

static void put_host(const predreg_facts_t *facts)
{
    const predreg_host_t *host       = &facts->host;
    const uct_predreg_knobs_t *knobs = &facts->knobs;
    char settings[512];

    put_string("rdma_devices", host->devices);
    put_limit("locked_memory", host->memlock, UINT64_MAX);
    put_bool("may_lock_anything", host->is_unlimited);
    printf(",\"pinned_by_ucx\":");
    if (facts->is_rehearsed && (facts->rehearsal.pinned >= 0)) {
        printf("%ld", facts->rehearsal.pinned);
    } else {
        printf("null");
    }
    put_string("proto_enable", facts->rehearsal.protocols);
    put_string("proto_enable_alone", facts->asked.protocols);
    predreg_facts_ucx_settings(facts, settings, sizeof(settings));
    put_string("ucx_settings", settings);
    put_limit("max_pinned", knobs->max_pinned, SIZE_MAX);
    put_limit("max_regions", knobs->max_regions, ULONG_MAX);
    put_limit("node_max_pinned", knobs->node_max_pinned, SIZE_MAX);
    put_limit("node_max_regions", knobs->node_max_regions, ULONG_MAX);
    printf(",\"processors\":%u,\"processes\":%u,\"other_processes\":%u,"
           "\"idle_processors\":%u", host->processors, facts->processes,
           host->managed, predreg_facts_idle(facts));
}

static void put_setting(void *arg, const char *name, const char *value)
{
    printf("%s", *(int*)arg ? "," : "");
    *(int*)arg = 1;
    predreg_json_string(stdout, name);
    printf(":");
    predreg_json_string(stdout, value);
}

static void put_problems(const predreg_problems_t *problems)
{
    unsigned i;

    printf(",\"problems\":[");
    for (i = 0; i < problems->count; ++i) {
        printf("%s{\"what\":", (i == 0) ? "" : ",");
        predreg_json_string(stdout, problems->list[i].what);
        put_string("do", problems->list[i].advice);
        put_bool("stops", problems->list[i].stops);
        printf("}");
    }
    printf("]");
}

void predreg_info_print_json(const predreg_facts_t *facts,
                             const predreg_problems_t *problems)
{
    static const char *const outcomes[PREDREG_OUTCOME_LAST] = {
        [PREDREG_OUTCOME_UNKNOWN] = NULL,
        [PREDREG_OUTCOME_ASIDE]   = "aside",
        [PREDREG_OUTCOME_NOTHING] = "nothing",
        [PREDREG_OUTCOME_LEFT]    = "left",
        [PREDREG_OUTCOME_MANAGED] = "managed"
    };
    int has_setting                                         = 0;

    put_versions(facts);
    put_ucx(facts);
    put_domains(facts);
    put_host(facts);
    printf(",\"settings\":{");
    predreg_settings_each(put_setting, &has_setting);
    printf("}");
    put_problems(problems);
    put_string("tried", outcomes[predreg_facts_outcome(facts)]);
    put_string("policy", ucs_rcache_pred_policy_names[facts->knobs.policy]);
    put_bool("works", predreg_problems_works(problems));
    printf("}\n");
}
