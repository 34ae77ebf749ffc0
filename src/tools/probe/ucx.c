/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "probe.h"

#include <uct/ib/predreg/compat/compat.h>

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Names and paths may be long; the end of longer lines is cut off */
#define MAX_LINE 8192


static int output = STDOUT_FILENO;


void predreg_say_to(int fd)
{
    output = fd;
}

void predreg_say(const char *format, ...)
{
    char line[MAX_LINE];
    va_list args;
    char *end;

    va_start(args, format);
    vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);

    for (end = line; *end != '\0'; ++end) {
        if (*end == '\n') {
            *end = ' '; /* A message of UCX or of the system may have several lines */
        }
    }

    *end++ = '\n';
    if (write(output, line, end - line) != end - line) {
        _exit(1); /* The parent has ended, or has closed the descriptor */
    }
}

/* Load libraries as if the program had been linked with them: each finds the others, and
 * preloaded libraries come first */
static int load(char *const *libraries)
{
    for (; *libraries != NULL; ++libraries) {
        predreg_say("stage loading %s", *libraries);
        if (dlopen(*libraries, RTLD_NOW | RTLD_GLOBAL) == NULL) {
            predreg_say("error %s", dlerror());
            return 0;
        }
    }

    return 1;
}

/* Say the path of a loaded library */
static void say_library(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    struct link_map *map;
    char path[PATH_MAX];

    if (handle == NULL) {
        return;
    }

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
        predreg_say("library %s %s", name,
                    (realpath(map->l_name, path) == NULL) ? map->l_name : path);
    }
    dlclose(handle);
}

/* Find a function in libucp and the libraries that libucp depends on, or in libuct if
 * libucp is not loaded. @return UCX's own function, even if the preloaded library
 * overrides it; NULL: there is no such function. */
static void *find(const char *name)
{
    void *handle   = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void *function = NULL;

    if (handle == NULL) {
        handle = dlopen("libuct.so.0", RTLD_LAZY | RTLD_NOLOAD);
    }

    if (handle != NULL) {
        function = dlsym(handle, name);
        dlclose(handle);
    }
    return function;
}

#define FIND_REAL(_name) \
    ucx->real._name = find(#_name);
#define FIND(_name) \
    ucx->_name = find(#_name);

static void find_functions(predreg_probe_ucx_t *ucx)
{
    UCT_PREDREG_REAL_UCT(FIND_REAL)
    UCT_PREDREG_REAL_UCT_SOME(FIND_REAL)
    UCT_PREDREG_REAL_UCP(FIND_REAL)
    PREDREG_PROBE_FUNCTIONS(FIND)
}

/* Return the name of a function if UCX lacks it. A UCX of a known version must have all
 * functions of UCT that the probe calls; the functions of UCP may be missing, as UCT can
 * be used without UCP */
#define LACKS(_name) \
    if (ucx->real._name == NULL) { \
        return #_name; \
    }

static const char *find_lack(const predreg_probe_ucx_t *ucx)
{
    UCT_PREDREG_REAL_UCT(LACKS)
    if ((ucx->uct_md_open == NULL) || (ucx->uct_md_close == NULL) ||
        (ucx->uct_md_config_read == NULL) ||
        (ucx->uct_config_release == NULL)) {
        return "uct_md_open";
    }

    return NULL;
}

int predreg_probe_load(char *const *libraries, predreg_probe_ucx_t *ucx)
{
    unsigned major, minor, release;
    const char *lacks;
    char reason[128];

    if (!load(libraries)) {
        return 0;
    }

    say_library("libucm.so.0");
    say_library("libucs.so.0");
    say_library("libuct.so.0");
    say_library("libucp.so.0");
    find_functions(ucx);

    predreg_say("stage asking UCX for its version");
    if (ucx->real.ucp_get_version != NULL) {
        ucx->real.ucp_get_version(&major, &minor, &release);
        predreg_say("version %u %u %u", major, minor, release);
    }

    ucx->compat = uct_predreg_compat_find(&ucx->real, reason, sizeof(reason));
    if (ucx->compat == NULL) {
        predreg_say("unknown %s", reason);
        return 0;
    }

    lacks = find_lack(ucx);
    if (lacks != NULL) {
        predreg_say("unknown this UCX lacks the function %s", lacks);
        return 0;
    }

    predreg_say("known");
    return 1;
}

const char *predreg_probe_text(const predreg_probe_ucx_t *ucx,
                               ucs_status_t status)
{
    static char text[32];

    if (ucx->ucs_status_string != NULL) {
        return ucx->ucs_status_string(status);
    }

    snprintf(text, sizeof(text), "status %d", status);
    return text;
}

void predreg_probe_protocols(const predreg_probe_ucx_t *ucx,
                             const ucp_config_t *config)
{
    char value[16];

    if ((ucx->real.ucp_config_print != NULL) &&
        uct_predreg_ucp_setting(&ucx->real, config, ucx->compat->proto.name,
                                value, sizeof(value))) {
        predreg_say("protocols %s", value);
    }
}
