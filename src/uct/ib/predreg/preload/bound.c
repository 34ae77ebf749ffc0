/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "bound.h"

#include <dlfcn.h>
#include <string.h>

/*
 * A library has tables of the names that the loader binds, with the place of each one's
 * address ("Relocation" in the System V ABI). The places of functions that are bound at
 * their first call hold addresses of stubs in the library itself until then.
 */

/* A relocation. UCX is built for processors with 64 bits only, whose relocations have an
 * addend */
typedef Elf64_Rela entry_t;

/* The tables of a library */
typedef struct tables {
    const Elf64_Sym *symbols;
    const char      *names;
    const entry_t   *functions; /* What is called */
    size_t          functions_size; /* Bytes, as those of others */
    const entry_t   *others;
    size_t          others_size;
} tables_t;

/* What is searched for */
typedef struct wanted {
    const char            *prefix; /* Names begin like this one */
    const struct link_map *except;
} wanted_t;


/* Some loaders replace offsets in these by addresses, some do not */
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
