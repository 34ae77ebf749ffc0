/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sites.h"

#include <ucs/base/hash.h>
#include <ucs/base/relaxed.h>

#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most frames of this library between the program and the call of
 * backtrace() */
#define SITES_OWN_FRAMES 8

/* How many neighbouring keys are looked at for a site. At most about half of the keys
 * are taken, so hardly any site would need more. */
#define SITES_PROBES     16

/* Bits of the caller's address in a context; the kind of communication is in the bits
 * above, see ucs_rcache_pred_context_add() */
#define SITES_ADDRESS    ((1ul << 56) - 1)

/* MPI programs have some hundred modules, plug-ins included. A module that is
 * unloaded and loaded again at another address counts twice */
#define MODULES_MAX      1024

#define MODULES_MAX_PATH 512


typedef struct sites_entry {
    ucs_rcache_trace_site_t site;
    _Atomic(int)             ready; /* Set by the thread that claimed the entry;
                                      release: the site was filled in */
} sites_entry_t;

struct ucs_rcache_record_sites {
    /* Constant */
    unsigned         max;
    sites_entry_t    *entries;
    _Atomic(uint64_t) *keys;     /* 2 * max keys: the hash of a site each, or 0
                                    if the key is free. A key is written once,
                                    by the thread that claims the entry of its
                                    site. Relaxed: a key guards no other memory */

    _Atomic(unsigned) count;     /* Entries claimed, by threads that note sites.
                                   May exceed max by the number of threads.
                                   Relaxed: a number */
    unsigned         next;      /* Next entry to be taken out. Used by the
                                   thread of the recorder only */
};


ucs_status_t ucs_rcache_record_sites_create(unsigned max,
                                            ucs_rcache_record_sites_t **sites_p)
{
    ucs_rcache_record_sites_t *sites;
    void *frame;

    sites = calloc(1, sizeof(*sites));
    if (sites == NULL) {
        goto err;
    }

    sites->max     = max;
    sites->entries = calloc(max, sizeof(*sites->entries));
    if (sites->entries == NULL) {
        goto err_free;
    }

    sites->keys = calloc(2 * max, sizeof(*sites->keys));
    if (sites->keys == NULL) {
        goto err_free_entries;
    }

    /* The first call of backtrace(3) loads a library, which would take long
     * later */
    backtrace(&frame, 1);
    *sites_p = sites;
    return UCS_OK;

err_free_entries:
    free(sites->entries);
err_free:
    free(sites);
err:
    return UCS_ERR_NO_MEMORY;
}

void ucs_rcache_record_sites_destroy(ucs_rcache_record_sites_t *sites)
{
    free((void*)sites->keys);
    free(sites->entries);
    free(sites);
}

/* Hash the caller and the path of calls of a context, which together name its
 * call site. The result is never 0: a key of 0 is free. */
static uint64_t sites_hash(const ucs_rcache_pred_context_t *context)
{
    uint64_t hash = ucs_hash_word(context->caller);

    hash = ucs_hash_word((hash ^ (hash >> 32)) + context->stack);
    return (hash ^ (hash >> 32)) | 1;
}

/* Fill in the frames from the caller in the context outwards. If the caller is
 * not found on the stack, since code without unwind tables is in between, the
 * caller is the only frame. */
static UCS_F_NOINLINE void
site_fill(ucs_rcache_trace_site_t *site,
          const ucs_rcache_pred_context_t *context)
{
    void *caller = (void*)(context->caller & SITES_ADDRESS);
    void *frames[UCS_RCACHE_TRACE_MAX_FRAMES + SITES_OWN_FRAMES];
    int count, own, i;

    site->caller     = context->caller;
    site->stack      = context->stack;
    site->frames[0]  = (uintptr_t)caller;
    site->num_frames = 1;

    count = backtrace(frames, UCS_RCACHE_TRACE_MAX_FRAMES + SITES_OWN_FRAMES);
    for (own = 0; (own < count) && (frames[own] != caller); ++own);

    for (i = own + 1; (i < count) && (site->num_frames <
                                      UCS_RCACHE_TRACE_MAX_FRAMES); ++i) {
        site->frames[site->num_frames++] = (uintptr_t)frames[i];
    }
}

/* Add a site under a free key, if there is room. @return 0 if another thread has
 * meanwhile taken the key for another site: the caller has to try the next key.
 * @param [out] is_new_p  Set to 1 if this call has added the site */
static UCS_F_NOINLINE int
sites_add(ucs_rcache_record_sites_t *sites, _Atomic(uint64_t) *key,
          uint64_t hash, const ucs_rcache_pred_context_t *context,
          int *is_new_p)
{
    uint64_t found = 0;
    sites_entry_t *entry;
    unsigned index;

    if (ucs_rcache_record_sites_is_full(sites)) {
        return 1;
    }

    if (!ucs_relaxed_cas(key, &found, hash)) {
        return found == hash;
    }

    index = ucs_relaxed_add(&sites->count, 1);
    if (index < sites->max) {
        entry = &sites->entries[index];
        site_fill(&entry->site, context);
        atomic_store_explicit(&entry->ready, 1, memory_order_release);
        *is_new_p = 1;
    }

    return 1;
}

int ucs_rcache_record_sites_note(ucs_rcache_record_sites_t *sites,
                                 const ucs_rcache_pred_context_t *context)
{
    uint64_t hash = sites_hash(context);
    int is_new    = 0;
    _Atomic(uint64_t) *key;
    uint64_t found;
    unsigned i;

    for (i = 0; i < SITES_PROBES; ++i) {
        key   = &sites->keys[((hash >> 1) + i) & (2 * sites->max - 1)];
        found = ucs_relaxed_load(key);
        if (ucs_likely(found == hash) ||
            ((found == 0) && sites_add(sites, key, hash, context, &is_new))) {
            break;
        }
    }
    return is_new;
}

int ucs_rcache_record_sites_is_full(ucs_rcache_record_sites_t *sites)
{
    return ucs_relaxed_load(&sites->count) >= sites->max;
}

const ucs_rcache_trace_site_t *
ucs_rcache_record_sites_next(ucs_rcache_record_sites_t *sites)
{
    sites_entry_t *entry;

    if (sites->next == sites->max) {
        return NULL;
    }

    /* Acquire: pairs with the release in sites_add(). Entries are taken out in
     * order; while one is being filled in, those after it have to wait */
    entry = &sites->entries[sites->next];
    if (!atomic_load_explicit(&entry->ready, memory_order_acquire)) {
        return NULL;
    }

    ++sites->next;
    return &entry->site;
}


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

/* @return whether a segment is in memory. The notes of a program may be only in
 * its file, and must not be read then */
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

/* Add the segments with code of one module. The loader has its lock during the
 * call, so that the function must neither allocate nor write to the file */
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

void ucs_rcache_record_modules_put(ucs_rcache_record_modules_t *modules,
                                   ucs_rcache_trace_writer_t *writer)
{
    dl_iterate_phdr(module_found, modules);
    for (; modules->num_put < modules->count; ++modules->num_put) {
        ucs_rcache_trace_put(writer, TRACE_RECORD_MODULE,
                             &modules->modules[modules->num_put]);
    }
}
