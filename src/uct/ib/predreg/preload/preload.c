/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "preload.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CORE_LIBRARY "libuct_predreg_core.so"


_Atomic(const uct_predreg_hooks_t*) predreg_active;

static pthread_once_t predreg_load_once = PTHREAD_ONCE_INIT;

static uct_predreg_real_t predreg_real;


/* Print a message to standard error: UCS, which has a log, may not be in the
 * process */
#define PREDREG_COMPLAIN(_fmt, ...) \
    fprintf(stderr, "ucx-predreg: " _fmt "\n", ##__VA_ARGS__)

static const char *library_of(const char *symbol)
{
    return !strncmp(symbol, "ucp_", 4) ? "libucp.so.0" : "libuct.so.0";
}

/* This takes the place of a function that was not found. It returns a value as
 * wide as a pointer, since some functions of UCP return a pointer that holds
 * the status. */
static intptr_t missing_function(void)
{
    return UCS_ERR_UNSUPPORTED;
}

void *predreg_resolve(const char *name)
{
    const char *library = library_of(name);
    void *handle, *addr;

    /* A search by handle begins in UCX's library, so it does not find the
     * overriding function of this library */
    handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    addr   = dlsym((handle == NULL) ? RTLD_NEXT : handle, name);
    if (addr == NULL) {
        PREDREG_COMPLAIN("%s was called, but there is no such function in %s "
                         "of this process", name, library);
        addr = missing_function;
    }

    return addr;
}

/* Load the core from the folder that this library was loaded from */
static void *load_core_library(void)
{
    char path[4096];
    const char *slash;
    Dl_info info;
    void *handle;

    if (!dladdr(&predreg_active, &info) || (info.dli_fname == NULL)) {
        return NULL;
    }

    slash = strrchr(info.dli_fname, '/');
    if (slash == NULL) {
        snprintf(path, sizeof(path), "%s", CORE_LIBRARY);
    } else {
        snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - info.dli_fname),
                 info.dli_fname, CORE_LIBRARY);
    }

    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        PREDREG_COMPLAIN("stepping aside: cannot load %s: %s", path, dlerror());
    }

    return handle;
}

#define RESOLVE(_name) predreg_real._name = PREDREG_REAL(_name);

const uct_predreg_real_t *predreg_real_ucp(void)
{
    /* Threads that come here at the same time write the same addresses */
    UCT_PREDREG_REAL_UCP(RESOLVE)
    return &predreg_real;
}

static void load_core(void)
{
    uct_predreg_core_init_func_t init;
    void *handle;

    UCT_PREDREG_REAL_UCT(RESOLVE)
    if (dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD) != NULL) {
        predreg_real_ucp();
    }

    handle = load_core_library();
    if (handle == NULL) {
        return;
    }

    init = (uct_predreg_core_init_func_t)dlsym(handle, UCT_PREDREG_CORE_INIT);
    if (init == NULL) {
        PREDREG_COMPLAIN("stepping aside: " CORE_LIBRARY
                         " belongs to another version");
        return;
    }

    /* Release: a thread that sees the hooks also sees what the core set up */
    atomic_store_explicit(&predreg_active, init(&predreg_real),
                          memory_order_release);
}

const uct_predreg_hooks_t *predreg_load(void)
{
    pthread_once(&predreg_load_once, load_core);
    return predreg_hooks();
}

/* If the program was linked with UCX, load the core at once, so that ucx_info
 * -c lists the knobs together with UCX's own settings */
UCS_F_CTOR static void predreg_constructor(void)
{
    if (dlopen("libucs.so.0", RTLD_LAZY | RTLD_NOLOAD) != NULL) {
        load_core_library();
    }
}
