/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define UCS_LIBRARY "libucs.so.0"

/* A function that every version of UCS has */
#define UCS_FUNCTION "ucs_status_string"


static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : (slash + 1);
}

/* The loader's description of the library that an address belongs to; NULL if
 * it belongs to none */
static const struct link_map *map_of(const void *address)
{
    struct link_map *map;
    Dl_info info;

    return dladdr1(address, &info, (void**)&map, RTLD_DL_LINKMAP) ? map : NULL;
}

const char *predreg_library_name(const void *address)
{
    Dl_info info;

    return (dladdr(address, &info) && (info.dli_fname != NULL)) ?
           info.dli_fname : "an unknown library";
}

/* Whether an address belongs to this library, or to another copy of it, which
 * would forward to this one */
static int is_preload(const void *address)
{
    return !strcmp(base_name(predreg_library_name(address)),
                   base_name(predreg_library_name(is_preload)));
}

int predreg_is_other_copy(const void *address)
{
    return is_preload(address) && (map_of(address) != map_of(is_preload));
}

/* Open a library once more, that is loaded already */
static void *reopen(const char *name, int flags)
{
    return dlopen(name, RTLD_LAZY | RTLD_NOLOAD | flags);
}

static void *lookup_in(const char *library, const char *name)
{
    void *handle = reopen(library, 0);
    void *addr;

    if (handle == NULL) {
        return NULL;
    }

    /* A search by handle begins in that library, and then searches those that
     * it depends on, so it does not find this one */
    addr = dlsym(handle, name);
    dlclose(handle);
    return addr;
}

static void *lookup_by_name(const char *name)
{
    static const char *const libraries[] = {
        "libucp.so.0", "libuct.so.0", UCS_LIBRARY
    };
    void *addr = NULL;
    unsigned i;

    for (i = 0; (i < 3) && (addr == NULL); ++i) {
        addr = lookup_in(libraries[i], name);
    }
    return addr;
}

void *predreg_lookup(const void *caller, const char *name)
{
    const struct link_map *map = (caller == NULL) ? NULL : map_of(caller);
    void *addr;

    /* The loader searches what all may use first: the program, its
     * dependencies, and what was loaded with RTLD_GLOBAL. If it finds a UCX
     * there, it does so for every function and every caller. */
    addr = dlsym(RTLD_NEXT, name);
    if ((addr != NULL) && !is_preload(addr)) {
        return addr;
    }

    /* Then it searches the dependencies of the plug-in that the caller was
     * loaded with. The program itself has no name, and was searched. */
    if ((map != NULL) && (map->l_name[0] != '\0')) {
        addr = lookup_in(map->l_name, name);
        if ((addr != NULL) && !is_preload(addr)) {
            return addr;
        }
    }

    /* The caller got the address of an overriding function by other means, or
     * there is another copy of this library between it and UCX */
    return lookup_by_name(name);
}

static int find_range(struct dl_phdr_info *info, size_t size, void *arg)
{
    predreg_range_t *range = arg;
    const char *address    = range->start;
    predreg_range_t found  = {NULL, NULL};
    const char *begin;
    ElfW(Half) i;

    for (i = 0; i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) {
            continue;
        }

        /* Segments are in the order of their addresses */
        begin = (const char*)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (found.start == NULL) {
            found.start = begin;
        }
        found.end = begin + info->dlpi_phdr[i].p_memsz;
    }

    if (!predreg_range_has(&found, address)) {
        return 0;
    }

    *range = found;
    return 1;
}

predreg_range_t predreg_library_range(const void *address)
{
    predreg_range_t range   = {address, NULL};
    predreg_range_t unknown = {NULL, NULL};

    return dl_iterate_phdr(find_range, &range) ? range : unknown;
}

void predreg_keep_library(const void *address)
{
    const struct link_map *map = map_of(address);
    void *handle;

    if ((map != NULL) && (map->l_name[0] != '\0')) {
        handle = reopen(map->l_name, RTLD_NODELETE);
        if (handle != NULL) {
            dlclose(handle);
        }
    }
}

int predreg_is_cores_ucx(const void *caller)
{
    const void *addr = lookup_in(UCS_LIBRARY, UCS_FUNCTION);

    return (addr != NULL) && (addr == predreg_lookup(caller, UCS_FUNCTION));
}
