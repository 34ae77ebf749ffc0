/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "ucx.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>


/*
 * The UCX that the dynamic loader has bound a library to. Libraries "for all" are those
 * whose names every library sees: the program, its dependencies, and libraries loaded
 * with RTLD_GLOBAL. The UCX for all may change while a process runs: a library stays
 * bound to the earlier UCX for all, while a later search by the loader finds the new one.
 *
 * A library has tables of the names that the loader binds, with the place of each address
 * ("Relocation" in the System V ABI). The loader binds some functions at their first
 * call. Until then, their places hold addresses of stubs in the library itself.
 */

/* A relocation. UCX is built for processors with 64 bits only, whose relocations have an
 * addend */
typedef Elf64_Rela entry_t;

/* The tables of a library */
typedef struct tables {
    const Elf64_Sym *symbols;
    const char      *names;
    const entry_t   *functions; /* Entries of functions bound at their first call */
    size_t          functions_size; /* Bytes, as others_size */
    const entry_t   *others;
    size_t          others_size;
} tables_t;

/* What is searched for */
typedef struct wanted {
    const char            *prefix; /* Names begin like this one */
    const struct link_map *except;
} wanted_t;


/* The address that an entry of the loader's description means: some loaders replace the
 * offsets there by addresses, some do not */
static const void *address_of(const struct link_map *map, ElfW(Addr) value)
{
    return (const void*)((value < map->l_addr) ? (map->l_addr + value) : value);
}

static tables_t find_tables(const struct link_map *map)
{
    tables_t tables = {};
    const ElfW(Dyn) *item;

    for (item = map->l_ld; item->d_tag != DT_NULL; ++item) {
        switch (item->d_tag) {
        case DT_SYMTAB:
            tables.symbols = address_of(map, item->d_un.d_ptr);
            break;
        case DT_STRTAB:
            tables.names = address_of(map, item->d_un.d_ptr);
            break;
        case DT_JMPREL:
            tables.functions = address_of(map, item->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            tables.functions_size = item->d_un.d_val;
            break;
        case DT_RELA:
            tables.others = address_of(map, item->d_un.d_ptr);
            break;
        case DT_RELASZ:
            tables.others_size = item->d_un.d_val;
            break;
        }
    }
    return tables;
}

static predreg_bound_t
read_entry(const struct link_map *map, const tables_t *tables,
           const entry_t *entry, const wanted_t *wanted)
{
    const Elf64_Sym *symbol = &tables->symbols[ELF64_R_SYM(entry->r_info)];
    const char *name        = &tables->names[symbol->st_name];
    predreg_bound_t none    = {};
    predreg_bound_t bound;
    Dl_info info;

    if ((ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT) ||
        strncmp(name, wanted->prefix, PREDREG_PREFIX_LENGTH)) {
        return none;
    }

    bound.name     = name;
    bound.function = *(const void**)(map->l_addr + entry->r_offset);
    if (!dladdr1(bound.function, &info, (void**)&bound.library,
                 RTLD_DL_LINKMAP) ||
        (info.dli_saddr != bound.function) || (bound.library == wanted->except)) {
        return none;
    }
    return bound;
}

static predreg_bound_t
search(const struct link_map *map, const tables_t *tables,
       const entry_t *entries, size_t size, const wanted_t *wanted)
{
    predreg_bound_t bound = {};
    size_t i;

    for (i = 0; (i < size / sizeof(*entries)) && (bound.name == NULL); ++i) {
        bound = read_entry(map, tables, &entries[i], wanted);
    }
    return bound;
}

predreg_bound_t
predreg_find_bound(const struct link_map *map, const char *prefix,
                   const struct link_map *except)
{
    wanted_t wanted       = {prefix, except};
    tables_t tables       = find_tables(map);
    predreg_bound_t bound = search(map, &tables, tables.functions,
                                   tables.functions_size, &wanted);

    return (bound.name != NULL) ? bound :
           search(map, &tables, tables.others, tables.others_size, &wanted);
}

/* Where names are searched for */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return (slash == NULL) ? path : (slash + 1);
}

/* The loader's description of the library at an address; NULL if there is none */
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

/* Whether an address belongs to any copy of the preloaded library. A call of another copy
 * would come back to the present copy */
static int is_preload(const void *address)
{
    return !strcmp(base_name(predreg_library_name(address)),
                   base_name(predreg_library_name(is_preload)));
}

int predreg_is_other_copy(const void *address)
{
    return is_preload(address) && (map_of(address) != map_of(is_preload));
}

/* Get a further handle of a loaded library; NULL: the library is not loaded */
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

    /* A search by handle begins in the library of the handle, and goes on in its
     * dependencies, so the search does not find the preloaded library */
    addr = dlsym(handle, name);
    dlclose(handle);
    return addr;
}

static void *lookup_by_name(const char *name)
{
    static const char *const libraries[] = {
        "libucp.so.0", "libuct.so.0", PREDREG_UCS_LIBRARY
    };
    void *addr = NULL;
    unsigned i;

    for (i = 0; (i < 3) && (addr == NULL); ++i) {
        addr = lookup_in(libraries[i], name);
    }
    return addr;
}

/* Search a library and its dependencies. @return NULL also if the library is the
 * program */
static void *lookup_in_map(const struct link_map *map, const char *name)
{
    /* The loader's description of the program has no file name to open */
    void *addr = ((map == NULL) || (map->l_name[0] == '\0')) ?
                 NULL : lookup_in(map->l_name, name);

    return ((addr != NULL) && is_preload(addr)) ? NULL : addr;
}

/* Find a name for all: in the program, its dependencies, and libraries loaded with
 * RTLD_GLOBAL */
static void *lookup_for_all(const char *name)
{
    void *addr = dlsym(RTLD_NEXT, name);

    return ((addr != NULL) && is_preload(addr)) ? NULL : addr;
}

/* Whether the loader has bound a caller to another UCX than the present UCX for all */
static int is_past_all(const predreg_bound_t *bound)
{
    const void *addr = (bound->name == NULL) ? NULL :
                                               lookup_for_all(bound->name);

    return (addr != NULL) && (addr != bound->function);
}

/* As predreg_lookup(), for a caller that is in a library or the program */
static void *lookup_for(const struct link_map *map, const char *name)
{
    const struct link_map *own = map_of(is_preload);
    predreg_bound_t bound      = predreg_find_bound(map, name, own);
    void *addr                 = NULL;
    int is_same;               /* Whether the bound function is of the library of UCX that
                                  the name belongs to */

    /* The loader searches the libraries for all first. If these libraries had a UCX when
     * the loader bound the caller, the caller has this UCX for all functions of UCX */
    is_same = (bound.name != NULL);
    if (!is_same) {
        bound = predreg_find_bound(map, "ucp_", own);
        if (bound.name == NULL) {
            bound = predreg_find_bound(map, "uct_", own);
        }
    }
    if ((is_same || (bound.name == NULL)) && !is_past_all(&bound)) {
        addr = lookup_for_all(name);
    }

    /* Then the loader searches the dependencies of the plug-in that the caller was loaded
     * with. The caller's own dependencies may lack the name, so the library of UCX that
     * the caller is bound to is searched first */
    if (addr == NULL) {
        addr = lookup_in_map(bound.library, name);
    }
    if (addr == NULL) {
        addr = lookup_in_map(map, name);
    }
    return ((addr == NULL) && !is_past_all(&bound)) ? lookup_for_all(name) : addr;
}

void *predreg_lookup(const void *caller, const char *name)
{
    const struct link_map *map = (caller == NULL) ? NULL : map_of(caller);
    void *addr;

    addr = (map == NULL) ? lookup_for_all(name) : lookup_for(map, name);

    /* If nothing was found, the caller got the address of the overriding function in
     * another way than from the loader, or another copy of this library is between this
     * copy and UCX: then UCX's libraries are searched by their names */
    return (addr != NULL) ? addr : lookup_by_name(name);
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
    const void *core     = lookup_in(PREDREG_UCS_LIBRARY,
                                           PREDREG_UCS_FUNCTION);
    const void *function = predreg_lookup(caller, PREDREG_UCX_FUNCTION);
    const void *addr     = NULL;

    /* Search the libucs of the caller's UCX, even if another libucs is for all */
    if (function != NULL) {
        addr = lookup_in_map(map_of(function), PREDREG_UCS_FUNCTION);
    }
    if (addr == NULL) {
        addr = predreg_lookup(caller, PREDREG_UCS_FUNCTION);
    }
    return (core != NULL) && (addr == core);
}

int predreg_is_bound_to(const char *library, const char *name)
{
    const void *addr = lookup_for_all(name);

    return (addr == NULL) || (addr == lookup_in(library, name));
}
