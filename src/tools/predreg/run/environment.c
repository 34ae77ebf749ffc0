/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "environment.h"

#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


void predreg_env_set(const char *name, const char *value)
{
    if (setenv(name, value, 1) != 0) {
        predreg_check_memory(NULL);
    }
}

static int is_knob(const char *string)
{
    return strncmp(string, PREDREG_KNOB_PREFIX,
                   strlen(PREDREG_KNOB_PREFIX)) == 0;
}

int predreg_env_set_knob(const char *arg)
{
    const char *value;
    char *name, *variable;
    int ret;

    name = predreg_knob_split(arg, "WINDOW=2", &value);
    if (name == NULL) {
        return -1;
    }

    ret = predreg_knob_check(name, value);
    if (ret == 0) {
        variable = predreg_format(PREDREG_KNOB_PREFIX "%s", name);
        predreg_env_set(variable, value);
        free(variable);
    }
    free(name);
    return ret;
}

void predreg_env_unset_knobs(void)
{
    char **var = environ;
    char *name;

    while (*var != NULL) {
        if (!is_knob(*var)) {
            ++var;
            continue;
        }

        name = predreg_format("%.*s", (int)strcspn(*var, "="), *var);
        unsetenv(name);
        free(name);
        var = environ; /* unsetenv() has changed the vector, so the search
                          starts anew */
    }
}

char **predreg_env_vars(const char *library)
{
    size_t count  = 1;
    char *preload = predreg_preload_join(library, getenv(PREDREG_PRELOAD));
    char **vars, **var;

    for (var = environ; *var != NULL; ++var) {
        ++count;
    }

    vars    = predreg_check_memory(calloc(count + 1, sizeof(*vars)));
    vars[0] = predreg_format(PREDREG_PRELOAD "=%s", preload);
    free(preload);

    count = 1;
    for (var = environ; *var != NULL; ++var) {
        if (is_knob(*var)) {
            vars[count++] = predreg_format("%s", *var);
        }
    }

    return vars;
}

char *predreg_env_absolute_path(const char *what, const char *path)
{
    char *absolute, *cwd;

    if (path[0] == '/') {
        return predreg_format("%s", path);
    }

    cwd = getcwd(NULL, 0);
    if (cwd == NULL) {
        predreg_error("%s: the present folder is unknown (%s); accepted: an "
                      "absolute path", what, strerror(errno));
        return NULL;
    }

    absolute = predreg_format("%s/%s", cwd, path);
    free(cwd);
    return absolute;
}
