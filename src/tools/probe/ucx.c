/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx.h"
#include "say.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* Load them so that each finds the others, and whatever was preloaded comes
 * first, as if the program had been linked with them */
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

/* Say where a library is that was loaded, by name or for another one */
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

#define FIND_REAL(_name) \
    ucx->real._name = dlsym(RTLD_DEFAULT, #_name);
#define FIND(_name) \
    ucx->_name = dlsym(RTLD_DEFAULT, #_name);

static void find_functions(predreg_probe_ucx_t *ucx)
{
    UCT_PREDREG_REAL_UCT(FIND_REAL)
    UCT_PREDREG_REAL_UCT_SOME(FIND_REAL)
    UCT_PREDREG_REAL_UCP(FIND_REAL)
    PREDREG_PROBE_FUNCTIONS(FIND)
}

/* Whether a UCX that claims to be of a known version has all that the probe
 * calls. A UCT without UCP will do. */
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

    say_library(PREDREG_PROBE_UCM);
    say_library(PREDREG_PROBE_UCS);
    say_library(PREDREG_PROBE_UCT);
    say_library(PREDREG_PROBE_UCP);
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

    predreg_say("known %u %u", ucx->compat->first_minor,
                ucx->compat->last_minor);
    return 1;
}

int predreg_probe_is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (; (list != NULL) && (*list != '\0');
         list = strchr(list, ','), list += (list != NULL)) {
        if (!strncmp(list, name, length) && (list[length] == ',')) {
            return 1;
        }
    }

    return 0;
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
