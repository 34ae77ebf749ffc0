/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "policy_opt.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/common/number.h>
#include <ucs/base/strb.h>

#include <stdlib.h>
#include <string.h>


static const predreg_limit_kind_t *limit_kind(unsigned policy)
{
    return &predreg_limit_kinds[predreg_policies[policy].limit];
}

char *predreg_policy_opt_accepted(void)
{
    UCS_RCACHE_PRED_STRB(list, 1024);
    unsigned policy;

    for (policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
        ucs_string_buffer_appendf(&list, "%s%s", (policy == 0) ? "" : ", ",
                                  predreg_policies[policy].name);
        if (predreg_policies[policy].limit != PREDREG_LIMIT_NONE) {
            ucs_string_buffer_appendf(&list, "[=%s]",
                                      limit_kind(policy)->placeholder);
        }
    }

    return predreg_format("%s", ucs_string_buffer_cstr(&list));
}

/* @return the first policy from this one on that has a limit */
static unsigned next_limited(unsigned policy)
{
    while ((policy < PREDREG_REPLAY_LAST) &&
           (predreg_policies[policy].limit == PREDREG_LIMIT_NONE)) {
        ++policy;
    }
    return policy;
}

/* List the policies that have a limit, with an example of the limit if asked
 * for. The word comes before the last policy */
static char *limited_policies(const char *word, int with_example)
{
    UCS_RCACHE_PRED_STRB(list, 1024);
    const char *separator = "";
    unsigned policy, next;

    for (policy = next_limited(0); policy < PREDREG_REPLAY_LAST;
         policy = next) {
        next = next_limited(policy + 1);
        ucs_string_buffer_appendf(&list, "%s%s%s%s", separator,
                                  predreg_policies[policy].name,
                                  with_example ? "=" : "",
                                  with_example ? limit_kind(policy)->example :
                                                 "");
        separator = (next_limited(next + 1) < PREDREG_REPLAY_LAST) ? ", " :
                                                                     word;
    }

    return predreg_format("%s", ucs_string_buffer_cstr(&list));
}

/* Read the number behind the equals sign of a policy. The parameter whole,
 * which is all that was given, is only printed in a message. */
static int parse_limit(const char *whole, unsigned policy, const char *number,
                       uint64_t *limits)
{
    char *limited;

    if (predreg_policies[policy].limit == PREDREG_LIMIT_NONE) {
        limited = limited_policies(" and ", 0);
        predreg_error("--policy: '%s'; only %s have a limit", whole, limited);
        free(limited);
        return -1;
    }

    limits[policy] = predreg_bytes(number);
    if (limits[policy] == 0) {
        limited = limited_policies(" or ", 1);
        predreg_error("--policy: '%s'; accepted: a number from 1, as in %s",
                      whole, limited);
        free(limited);
        return -1;
    }

    return 0;
}

/* Read one policy of the option --policy, which the user writes as POLICY or as
 * POLICY=LIMIT, and mark it as chosen */
static int parse_policy(const char *arg, int *chosen, uint64_t *limits)
{
    size_t length   = strcspn(arg, "=");
    unsigned policy = predreg_policy_find(arg, length);
    char *accepted;

    if (policy == PREDREG_REPLAY_LAST) {
        accepted = predreg_policy_opt_accepted();
        predreg_error("--policy: '%s'; accepted: %s", arg, accepted);
        free(accepted);
        return -1;
    }

    if (chosen[policy]) {
        predreg_error("--policy: '%s' is given twice",
                      predreg_policies[policy].name);
        return -1;
    }

    chosen[policy] = 1;
    return (arg[length] == '\0') ?
           0 : parse_limit(arg, policy, &arg[length + 1], limits);
}

int predreg_policy_opt_parse(const char *list, int *chosen, uint64_t *limits)
{
    char *copy = predreg_format("%s", list);
    char *rest = copy;
    int ret    = 0;
    char *name;

    while ((ret == 0) && ((name = strsep(&rest, ",")) != NULL)) {
        ret = parse_policy(name, chosen, limits);
    }
    free(copy);
    return ret;
}
