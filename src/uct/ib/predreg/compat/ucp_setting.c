/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucp_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


char *uct_predreg_ucp_settings(const uct_predreg_real_t *real,
                               const ucp_config_t *config)
{
    char *text  = NULL;
    size_t size = 0;
    FILE *stream;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return NULL;
    }

    real->ucp_config_print(config, stream, "", UCS_CONFIG_PRINT_CONFIG);
    if (fclose(stream) != 0) { /* The text is complete only now */
        free(text);
        return NULL; /* There was no memory for it */
    }
    return text;
}

int uct_predreg_ucp_settings_find(const char *text, const char *name,
                                  char *value, size_t max)
{
    const size_t length = strlen(name);
    const char *line, *equals, *end;

    for (line = text; (line != NULL) && (*line != '\0');
         line = (*end == '\0') ? end : (end + 1)) {
        end    = line + strcspn(line, "\n");
        equals = memchr(line, '=', end - line);
        if ((equals != NULL) && ((size_t)(equals - line) >= length) &&
            !strncmp(equals - length, name, length)) {
            snprintf(value, max, "%.*s", (int)(end - equals - 1), equals + 1);
            return 1;
        }
    }

    return 0;
}

int uct_predreg_ucp_setting(const uct_predreg_real_t *real,
                            const ucp_config_t *config, const char *name,
                            char *value, size_t max)
{
    char *text = uct_predreg_ucp_settings(real, config);
    int found  = uct_predreg_ucp_settings_find(text, name, value, max);

    free(text);
    return found;
}
