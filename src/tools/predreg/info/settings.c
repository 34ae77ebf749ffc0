/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "settings.h"

#include <tools/predreg/common/message.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>


static int is_setting(const char *var)
{
    static const char *const begins[] = {"UCX_", "LD_PRELOAD=",
                                         "LD_LIBRARY_PATH="};
    unsigned i;

    for (i = 0; i < sizeof(begins) / sizeof(begins[0]); ++i) {
        if (!strncmp(var, begins[i], strlen(begins[i]))) {
            return strchr(var, '=') != NULL;
        }
    }

    return 0;
}

void predreg_settings_each(void (*func)(void *arg, const char *name,
                                        const char *value), void *arg)
{
    char **var;
    char *name;

    for (var = environ; *var != NULL; ++var) {
        if (is_setting(*var)) {
            name = predreg_format("%.*s", (int)strcspn(*var, "="), *var);
            func(arg, name, strchr(*var, '=') + 1);
            free(name);
        }
    }
}
