/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_opt.h"

#include <tools/predreg/common/message.h>

#include <ucs/datastruct/string_buffer.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define KNOB_PREFIX "UCX_RCACHE_PRED_"


/* The knobs that --set accepts: the others have no influence on a replay, which
 * knows only one process and uses the context windows of the recording. */
static const char *const accepted[] = {"HELPER", "HISTORY", "MAX_SITES",
                                       "KNOWN_REGIONS", "DQ_SIZE", "MAX_PINNED",
                                       "MAX_REGIONS", "PIECES"};


char *predreg_knob_opt_accepted(void)
{
    UCS_STRING_BUFFER_ONSTACK(list, 1024);
    size_t i;

    for (i = 0; i < ucs_static_array_size(accepted); ++i) {
        ucs_string_buffer_appendf(&list, "%s%s", (i == 0) ? "" : ", ",
                                  accepted[i]);
    }

    return predreg_format("%s", ucs_string_buffer_cstr(&list));
}

/* Whether a knob changes a replay. If not, the reason is printed. */
static int is_accepted(const char *name)
{
    char *list;
    size_t i;

    for (i = 0; i < ucs_static_array_size(accepted); ++i) {
        if (!strcmp(name, accepted[i])) {
            return 1;
        }
    }

    if (!strcmp(name, "POLICY")) {
        predreg_error("--set: POLICY is said by --policy");
    } else if (!strcmp(name, "WINDOW")) {
        predreg_error("--set: WINDOW is part of what was recorded: contexts "
                      "are made with it");
    } else if (!strncmp(name, "NODE_", strlen("NODE_"))) {
        predreg_error("--set: %s is of the ranks of a node together, and each "
                      "is replayed by itself; see --ranks", name);
    } else {
        list = predreg_knob_opt_accepted();
        predreg_error("--set: '%s' changes nothing in a replay; accepted: %s",
                      name, list);
        free(list);
    }
    return 0;
}

int predreg_knob_opt_parse(const char *arg, uct_predreg_knobs_t *knobs)
{
    const char *equals = strchr(arg, '=');
    const char *begin  = arg;
    int ret            = -1;
    char *name, *p;

    if (!strncmp(begin, KNOB_PREFIX, strlen(KNOB_PREFIX))) {
        begin += strlen(KNOB_PREFIX);
    }

    if ((equals == NULL) || (equals <= begin)) {
        predreg_error("--set: '%s'; accepted: KNOB=VALUE, as in HISTORY=4",
                      arg);
        return -1;
    }

    name = predreg_format("%.*s", (int)(equals - begin), begin);
    for (p = name; *p != '\0'; ++p) {
        *p = toupper((unsigned char)*p);
    }

    if (is_accepted(name) &&
        (uct_predreg_knobs_set(knobs, name, equals + 1) == UCS_OK)) {
        ret = 0;
    }
    free(name);
    return ret;
}
