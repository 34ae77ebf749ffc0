/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "aside.h"

#include <stdio.h>


#define ROW(_name, _message, _advice) \
    [UCT_PREDREG_ASIDE_##_name] = {#_name, _message, _advice},

static const struct {
    const char *name;
    const char *message;
    const char *advice;
} rows[UCT_PREDREG_ASIDE_LAST] = {
    UCT_PREDREG_ASIDE_REASONS(ROW)
};


void uct_predreg_aside_print(uct_predreg_aside_t reason, const char *detail,
                             char text[UCT_PREDREG_ASIDE_MAX])
{
    snprintf(text, UCT_PREDREG_ASIDE_MAX, rows[reason].message, detail);
}

void uct_predreg_aside_tell(uct_predreg_aside_t reason, const char *message,
                            uct_predreg_tell_t tell, void *arg)
{
    if (reason != UCT_PREDREG_ASIDE_NONE) {
        tell(arg, "aside", rows[reason].name);
        tell(arg, "why", message);
        tell(arg, "advice", rows[reason].advice);
    }
}
