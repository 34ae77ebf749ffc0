/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "debuginfo.h"

#include <stdlib.h>
#include <string.h>


/* A program or library, as some trace describes it */
typedef struct symbols_module {
    char                   *path;
    uint8_t                build_id[UCS_RCACHE_TRACE_MAX_BUILD_ID];
    unsigned               build_id_length;
    predreg_module_state_t state;
    predreg_debuginfo_t    *info; /* NULL unless its symbols are used */
} symbols_module_t;

struct predreg_symbols {
    symbols_module_t *modules;
    unsigned         num_modules;
};


ucs_status_t predreg_symbols_create(predreg_symbols_t **symbols_p)
{
    *symbols_p = calloc(1, sizeof(**symbols_p));
    return (*symbols_p == NULL) ? UCS_ERR_NO_MEMORY : UCS_OK;
}

void predreg_symbols_destroy(predreg_symbols_t *symbols)
{
    unsigned i;

    for (i = 0; i < symbols->num_modules; ++i) {
        if (symbols->modules[i].info != NULL) {
            predreg_debuginfo_close(symbols->modules[i].info);
        }
        free(symbols->modules[i].path);
    }

    free(symbols->modules);
    free(symbols);
}

static ucs_status_t symbols_open(symbols_module_t *module)
{
    ucs_status_t status;

    status = predreg_debuginfo_open(module->path, module->build_id,
                                    module->build_id_length, &module->info);
    switch (status) {
    case UCS_OK:
        module->state = PREDREG_MODULE_READ;
        break;
    case UCS_ERR_NO_MEMORY:
        return status;
    case UCS_ERR_REJECTED:
        module->state = PREDREG_MODULE_CHANGED;
        break;
    case UCS_ERR_UNSUPPORTED:
        module->state = PREDREG_MODULE_NOT_READ;
        break;
    default:
        module->state = PREDREG_MODULE_MISSING;
        break;
    }

    return UCS_OK;
}

static int symbols_is_module(const symbols_module_t *module,
                             const ucs_rcache_trace_module_t *recorded)
{
    return !strcmp(module->path, recorded->path) &&
           (module->build_id_length == recorded->build_id_length) &&
           !memcmp(module->build_id, recorded->build_id,
                   recorded->build_id_length);
}

static ucs_status_t
symbols_add_module(predreg_symbols_t *symbols,
                   const ucs_rcache_trace_module_t *recorded)
{
    symbols_module_t *modules, *module;
    ucs_status_t status;

    modules = realloc(symbols->modules,
                      (symbols->num_modules + 1) * sizeof(*modules));
    if (modules == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    symbols->modules        = modules;
    module                  = &modules[symbols->num_modules];
    module->build_id_length = recorded->build_id_length;
    module->info            = NULL;
    memcpy(module->build_id, recorded->build_id, recorded->build_id_length);
    module->path            = strdup(recorded->path);
    if (module->path == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    status = symbols_open(module);
    if (status != UCS_OK) {
        free(module->path);
        return status;
    }

    ++symbols->num_modules;
    return UCS_OK;
}

/* Find a module, and open it if this is the first time. Ranks have the same
 * modules, so that each file is opened only once */
static ucs_status_t
symbols_get_module(predreg_symbols_t *symbols,
                   const ucs_rcache_trace_module_t *recorded,
                   const symbols_module_t **module_p)
{
    ucs_status_t status;
    unsigned i;

    for (i = 0; i < symbols->num_modules; ++i) {
        if (symbols_is_module(&symbols->modules[i], recorded)) {
            break;
        }
    }

    if (i == symbols->num_modules) {
        status = symbols_add_module(symbols, recorded);
        if (status != UCS_OK) {
            return status;
        }
    }

    *module_p = &symbols->modules[i];
    return UCS_OK;
}

static const ucs_rcache_trace_module_t *
symbols_find_recorded(const ucs_rcache_trace_t *trace, uint64_t address)
{
    unsigned i;

    for (i = 0; i < trace->num_modules; ++i) {
        if ((address >= trace->modules[i].start) &&
            (address < trace->modules[i].end)) {
            return &trace->modules[i];
        }
    }

    return NULL;
}

ucs_status_t predreg_symbols_find(predreg_symbols_t *symbols,
                                  const ucs_rcache_trace_t *trace,
                                  uint64_t address, predreg_frame_t *frames,
                                  unsigned max, unsigned *count_p)
{
    const ucs_rcache_trace_module_t *recorded;
    const symbols_module_t *module;
    unsigned count = 0;
    ucs_status_t status;
    unsigned i;

    /* The return address may belong to the next function already, so the
     * address before it is looked up */
    recorded = symbols_find_recorded(trace, address - 1);
    if (recorded == NULL) {
        frames[0] = (predreg_frame_t){ .offset = address };
        *count_p  = 1;
        return UCS_OK;
    }

    status = symbols_get_module(symbols, recorded, &module);
    if (status != UCS_OK) {
        return status;
    }

    address -= recorded->bias;
    if (module->info != NULL) {
        count = predreg_debuginfo_find(module->info, address - 1, frames, max);
    }
    if (count == 0) {
        count     = 1;
        frames[0] = (predreg_frame_t){ .function = NULL };
    }

    for (i = 0; i < count; ++i) {
        frames[i].module = module->path;
        frames[i].offset = address;
    }

    *count_p = count;
    return UCS_OK;
}

unsigned predreg_symbols_num_modules(const predreg_symbols_t *symbols)
{
    return symbols->num_modules;
}

const char *predreg_symbols_module(const predreg_symbols_t *symbols,
                                   unsigned index,
                                   predreg_module_state_t *state_p)
{
    *state_p = symbols->modules[index].state;
    return symbols->modules[index].path;
}

int predreg_module_is_communication(const char *path)
{
    static const char *const prefixes[] = {
        "libuct",    "libucp",     "libucs",    "libucm",   "libucc",
        "libmpi",    "libpmpi",    "libopen-",  "libopal",  "liboshmem",
        "mca_",      "libfabric",  "libibverbs"
    };
    const char *slash = strrchr(path, '/');
    const char *name  = (slash == NULL) ? path : (slash + 1);
    unsigned i;

    for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); ++i) {
        if (!strncmp(name, prefixes[i], strlen(prefixes[i]))) {
            return 1;
        }
    }

    return 0;
}
