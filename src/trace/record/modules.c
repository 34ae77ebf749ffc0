/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "modules.h"

#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MPI programs have some hundred modules, plug-ins included. A module that is
 * unloaded and loaded again at another address counts twice */
#define MODULES_MAX      1024

#define MODULES_MAX_PATH 512

struct ucs_rcache_record_modules {
    unsigned count;               /* Modules found so far */
    unsigned num_put;             /* How many modules were put into the trace so
                                     far */
    char     program[PATH_MAX];   /* Path of the program, which the loader does
                                     not tell */
    ucs_rcache_trace_module_t modules[MODULES_MAX];
    /* The paths of the modules, copied since the loader frees its own when it
     * unloads a library */
    char     paths[MODULES_MAX][MODULES_MAX_PATH];
};


ucs_status_t
ucs_rcache_record_modules_create(ucs_rcache_record_modules_t **modules_p)
{
    ucs_rcache_record_modules_t *modules;

    modules = calloc(1, sizeof(*modules));
    if (modules == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    if (readlink("/proc/self/exe", modules->program,
                 sizeof(modules->program) - 1) < 0) {
        modules->program[0] = '\0'; /* Without the path, the program has no
                                       symbols in the trace */
    }

    *modules_p = modules;
    return UCS_OK;
}

void ucs_rcache_record_modules_destroy(ucs_rcache_record_modules_t *modules)
{
    free(modules);
}

/* Notes are padded to 4 bytes (System V ABI, "Note Section") */
static size_t note_size(size_t length)
{
    return (length + 3) & ~(size_t)3;
}

/* Look for the build ID of a module among the notes of a segment */
static void module_find_build_id(ucs_rcache_trace_module_t *module,
                                 const char *notes, size_t size)
{
    const ElfW(Nhdr) *note;
    const char *name, *id;

    while (size >= sizeof(*note)) {
        note = (const void*)notes;
        if ((note->n_namesz > size) || (note->n_descsz > size) ||
            (sizeof(*note) + note_size(note->n_namesz) +
             note_size(note->n_descsz) > size)) {
            return;
        }

        name = notes + sizeof(*note);
        id   = name + note_size(note->n_namesz);
        if ((note->n_type == NT_GNU_BUILD_ID) &&
            (note->n_namesz == sizeof(ELF_NOTE_GNU)) &&
            !memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
            (note->n_descsz <= sizeof(module->build_id))) {
            module->build_id_length = note->n_descsz;
            memcpy(module->build_id, id, note->n_descsz);
            return;
        }

        size -= id + note_size(note->n_descsz) - notes;
        notes = id + note_size(note->n_descsz);
    }
}

/* Whether a segment is in memory. The notes of a program may be in its file
 * only, and must not be read then */
static int segment_is_loaded(const struct dl_phdr_info *info,
                             const ElfW(Phdr) *segment)
{
    const ElfW(Phdr) *end = info->dlpi_phdr + info->dlpi_phnum;
    const ElfW(Phdr) *phdr;

    for (phdr = info->dlpi_phdr; phdr < end; ++phdr) {
        if ((phdr->p_type == PT_LOAD) && (phdr->p_flags & PF_R) &&
            (segment->p_vaddr >= phdr->p_vaddr) &&
            (segment->p_vaddr + segment->p_memsz <=
             phdr->p_vaddr + phdr->p_memsz)) {
            return 1;
        }
    }

    return 0;
}

static int module_is_known(const ucs_rcache_record_modules_t *modules,
                           const ucs_rcache_trace_module_t *module,
                           const char *path)
{
    const ucs_rcache_trace_module_t *known;

    for (known = modules->modules; known < modules->modules + modules->count;
         ++known) {
        if ((known->start == module->start) && (known->end == module->end) &&
            !strcmp(known->path, path)) {
            return 1;
        }
    }

    return 0;
}

static void module_add(ucs_rcache_record_modules_t *modules,
                       const ucs_rcache_trace_module_t *trace, const char *path)
{
    unsigned number = modules->count;

    if ((modules->count == MODULES_MAX) ||
        module_is_known(modules, trace, path)) {
        return;
    }

    strcpy(modules->paths[number], path);
    modules->modules[number]      = *trace;
    modules->modules[number].path = modules->paths[number];
    ++modules->count;
}

/* Called with the loader's lock held: must neither allocate nor write */
static int module_found(struct dl_phdr_info *info, size_t size, void *arg)
{
    ucs_rcache_record_modules_t *modules = arg;
    ucs_rcache_trace_module_t module     = { .bias = info->dlpi_addr };
    const ElfW(Phdr) *end                = info->dlpi_phdr + info->dlpi_phnum;
    const char *path                     = info->dlpi_name;
    const ElfW(Phdr) *phdr;

    if (path[0] == '\0') {
        path = modules->program;
    }

    /* A module without a path is mapped by the kernel itself, and is no file */
    if ((strchr(path, '/') == NULL) || (strlen(path) >= MODULES_MAX_PATH)) {
        return 0;
    }

    for (phdr = info->dlpi_phdr; phdr < end; ++phdr) {
        if ((phdr->p_type == PT_NOTE) && (module.build_id_length == 0) &&
            segment_is_loaded(info, phdr)) {
            module_find_build_id(&module, (void*)(module.bias + phdr->p_vaddr),
                                 phdr->p_memsz);
        }
    }

    for (phdr = info->dlpi_phdr; phdr < end; ++phdr) {
        if ((phdr->p_type == PT_LOAD) && (phdr->p_flags & PF_X)) {
            module.start = module.bias + phdr->p_vaddr;
            module.end   = module.start + phdr->p_memsz;
            module_add(modules, &module, path);
        }
    }

    return 0;
}

const ucs_rcache_trace_module_t *
ucs_rcache_record_modules_list(ucs_rcache_record_modules_t *modules,
                               int is_anew, unsigned *num_p)
{
    if (is_anew) {
        dl_iterate_phdr(module_found, modules);
    }
    *num_p = modules->count;
    return modules->modules;
}

void ucs_rcache_record_modules_put(ucs_rcache_record_modules_t *modules,
                                   ucs_rcache_trace_writer_t *writer)
{
    dl_iterate_phdr(module_found, modules);
    for (; modules->num_put < modules->count; ++modules->num_put) {
        ucs_rcache_trace_put_module(writer,
                                    &modules->modules[modules->num_put]);
    }
}
