/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucp_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* The configuration is printed, and the setting is searched for in the text */
int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max)
{
    char *text  = NULL;
    size_t size = 0;
    int found   = 0;
    char *line, *equals, *saveptr;
    FILE *stream;
    int ret;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return 0;
    }

    real->ucp_config_print(config, stream, "", UCS_CONFIG_PRINT_CONFIG);
    ret = fclose(stream); /* The text is complete only now */
    if ((ret != 0) || (text == NULL)) {
        goto out; /* There was no memory for it */
    }

    for (line = strtok_r(text, "\n", &saveptr); (line != NULL) && !found;
         line = strtok_r(NULL, "\n", &saveptr)) {
        equals = strchr(line, '=');
        if ((equals == NULL) || (equals - line < (ptrdiff_t)strlen(name)) ||
            strncmp(equals - strlen(name), name, strlen(name))) {
            continue;
        }

        snprintf(value, max, "%s", equals + 1);
        found = 1;
    }

out:
    free(text);
    return found;
}
