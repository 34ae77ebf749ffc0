/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "costs_key.h"

#include <ucs/base/page.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* How a line of /proc/cpuinfo begins that tells the model: on x86, on POWER,
 * and on ARM, which has numbers only */
static const char *const model_names[] = {"model name", "cpu", "CPU part"};


static void append(char text[UCT_PREDREG_COSTS_KEY_MAX], const char *format,
                   ...) __attribute__((format(printf, 2, 3)));

/* What does not fit is cut off, after which the text is as long as can be */
static void append(char text[UCT_PREDREG_COSTS_KEY_MAX], const char *format,
                   ...)
{
    size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, UCT_PREDREG_COSTS_KEY_MAX - length, format, args);
    va_end(args);
}

/* Two that differ only in what was cut off would be the same */
static void check_length(char text[UCT_PREDREG_COSTS_KEY_MAX])
{
    if (strlen(text) == UCT_PREDREG_COSTS_KEY_MAX - 1) {
        text[0] = '\0';
    }
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const*)a, *(const char *const*)b);
}

void uct_predreg_costs_key(unsigned major, unsigned minor, unsigned release,
                           const char **domains, unsigned num_domains,
                           char key[UCT_PREDREG_COSTS_KEY_MAX])
{
    unsigned i;

    if (num_domains > 0) {
        qsort(domains, num_domains, sizeof(*domains), compare);
    }
    key[0] = '\0';
    append(key, "UCX %u.%u.%u", major, minor, release);
    for (i = 0; i < num_domains; ++i) {
        if ((i == 0) || strcmp(domains[i], domains[i - 1])) {
            append(key, "%s%s", (i == 0) ? ", domains " : " ", domains[i]);
        }
    }
    check_length(key);
}

/* @return the value of a line "NAME : value", without what is around it; NULL:
 * it is none with this name. */
static char *value_of_line(char *line, const char *name)
{
    size_t length = strlen(name);

    if (strncmp(line, name, length)) {
        return NULL;
    }

    line += length + strspn(line + length, " \t");
    if (*line != ':') {
        return NULL;
    }

    line += 1 + strspn(line + 1, " \t");
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static void append_processor(char text[UCT_PREDREG_COSTS_KEY_MAX])
{
    FILE *file  = fopen("/proc/cpuinfo", "re");
    char *model = NULL;
    char line[256];
    unsigned i;

    while ((file != NULL) && (model == NULL) &&
           (fgets(line, sizeof(line), file) != NULL)) {
        for (i = 0; (model == NULL) &&
                    (i < sizeof(model_names) / sizeof(model_names[0])); ++i) {
            model = value_of_line(line, model_names[i]);
        }
    }

    append(text, ", processor %s", (model == NULL) ? "unknown" : model);
    if (file != NULL) {
        fclose(file);
    }
}

void uct_predreg_costs_depends(const char *key,
                               char depends[UCT_PREDREG_COSTS_KEY_MAX])
{
    struct utsname host;
    char *c;

    depends[0] = '\0';
    if (key[0] == '\0') {
        return;
    }

    append(depends, "%s", key);
    append_processor(depends);
    append(depends, ", host %s",
           (uname(&host) == 0) ? host.nodename : "unknown");
    append(depends, ", pages of %zu bytes", ucs_rcache_pred_page_size());
    check_length(depends);

    for (c = depends; *c != '\0'; ++c) {
        if ((unsigned char)*c < ' ') {
            *c = ' '; /* It is one line */
        }
    }
}
