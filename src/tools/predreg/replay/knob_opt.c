/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "knob_opt.h"

#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/message.h>
#include <ucs/base/strb.h>

#include <stdlib.h>
#include <string.h>


/* The knobs that --set accepts: the others have no influence on a replay, which
 * knows only one process and uses the context windows of the recording. */
static const char *const accepted[] = {"HELPER", "BUDGET", "HISTORY", "MAX_SITES",
                                       "KNOWN_REGIONS", "DQ_SIZE", "MAX_PINNED",
                                       "MAX_REGIONS", "PIECES",
                                       "EAGER_FRACTION"};


char *predreg_knob_opt_accepted(void)
{
    UCS_RCACHE_PRED_STRB(list, 1024);
    size_t i;

    for (i = 0; i < ucs_static_array_size(accepted); ++i) {
        ucs_string_buffer_appendf(&list, "%s%s", (i == 0) ? "" : ", ",
                                  accepted[i]);
    }

    return predreg_format("%s", ucs_string_buffer_cstr(&list));
}

/* Print that a knob changes nothing, and if it is none, which one may be
 * meant */
static void complain(const char *name)
{
    char *list    = predreg_knob_opt_accepted();
    char *nearest = predreg_knob_nearest(name);

    if (nearest == NULL) {
        predreg_error("--set: there is no knob '%s'; accepted in a replay: %s",
                      name, list);
    } else if (!strcmp(nearest, name)) {
        predreg_error("--set: '%s' changes nothing in a replay; accepted: %s",
                      name, list);
    } else {
        predreg_error("--set: there is no knob '%s', the nearest is %s; "
                      "accepted in a replay: %s", name, nearest, list);
    }
    free(nearest);
    free(list);
}

/* Whether a knob changes a replay. If not, the reason is printed. */
static int is_accepted(const char *name)
{
    size_t i;

    for (i = 0; i < ucs_static_array_size(accepted); ++i) {
        if (!strcmp(name, accepted[i])) {
            return 1;
        }
    }

    if (!strcmp(name, "POLICY")) {
        predreg_error("--set: POLICY is said by --policy");
    } else if (!strcmp(name, "WINDOW") || !strcmp(name, "UNWIND")) {
        predreg_error("--set: %s is part of what was recorded: contexts are "
                      "made with it; to change it, record with --set %s=VALUE",
                      name, name);
    } else if (!strncmp(name, "NODE_", strlen("NODE_"))) {
        predreg_error("--set: %s is of the ranks of a node together, and each "
                      "is replayed by itself; see --ranks", name);
    } else {
        complain(name);
    }
    return 0;
}

int predreg_knob_opt_parse(const char *arg, uct_predreg_knobs_t *knobs)
{
    const char *value;
    int ret = -1;
    char *name;

    name = predreg_knob_split(arg, "HISTORY=4", &value);
    if (name == NULL) {
        return -1;
    }

    if (is_accepted(name) &&
        (uct_predreg_knobs_set(knobs, name, value) == UCS_OK)) {
        ret = 0;
    }
    free(name);
    return ret;
}
