/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "sites.h"

#include <tools/base/memory.h>

#include <stdlib.h>
#include <string.h>

#ifdef PREDREG_HAVE_LIBDW

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <sys/stat.h>


/* The search path of separate files with debug information; NULL: the search path of
 * debuggers */
static char *debuginfo_path;

static const Dwfl_Callbacks callbacks = {
    .find_debuginfo  = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path  = &debuginfo_path
};


static int has_build_id(Dwfl_Module *symbols, const predreg_module_t *module)
{
    int length = module->build_id_length;
    const unsigned char *bits;
    GElf_Addr address;
    GElf_Addr bias;

    if (length == 0) {
        return 1;
    }

    /* libdw tells the build ID only of a file that it has opened */
    return (dwfl_module_getelf(symbols, &bias) != NULL) &&
           (dwfl_module_build_id(symbols, &bits, &address) == length) &&
           !memcmp(bits, module->build_id, length);
}

/* Open the file of a module, and set the state of the module. If memory runs out, the
 * module counts as missing */
static void open_module(predreg_module_t *module)
{
    struct stat st;
    Dwfl *dwfl;

    module->state = PREDREG_MODULE_MISSING;
    /* If the path in a trace is that of a pipe, libdw would wait until somebody writes to
     * the pipe */
    if ((stat(module->path, &st) != 0) || !S_ISREG(st.st_mode)) {
        return;
    }

    dwfl = dwfl_begin(&callbacks);
    if (dwfl == NULL) {
        return;
    }

    /* If the module begins at address 0, addresses in memory are addresses in the file */
    module->symbols = dwfl_report_elf(dwfl, module->path, module->path, -1, 0,
                                      1);
    if ((module->symbols != NULL) && (dwfl_report_end(dwfl, NULL, NULL) == 0)) {
        if (has_build_id(module->symbols, module)) {
            module->state = PREDREG_MODULE_READ;
            module->dwfl  = dwfl;
            return;
        }

        module->state = PREDREG_MODULE_CHANGED;
    }

    dwfl_end(dwfl);
}

static void close_module(predreg_module_t *module)
{
    dwfl_end(module->dwfl); /* NULL is accepted */
}

static void find_line(const predreg_module_t *module, uint64_t address,
                      predreg_frame_t *frame)
{
    Dwfl_Line *line = dwfl_module_getsrc(module->symbols, address);

    frame->file = NULL;
    frame->line = 0;
    if (line != NULL) {
        frame->file = dwfl_lineinfo(line, NULL, &frame->line, NULL, NULL, NULL);
    }
}

/* Find the line at which a function was inlined: it is the line of the frame around the
 * inlined function */
static void find_call(Dwarf_Die *cu, Dwarf_Die *scope, predreg_frame_t *frame)
{
    Dwarf_Files *files;
    Dwarf_Attribute attr;
    Dwarf_Word value;
    size_t num_files;

    frame->file = NULL;
    frame->line = 0;
    if ((dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attr), &value) ==
         0) &&
        (dwarf_getsrcfiles(cu, &files, &num_files) == 0)) {
        frame->file = dwarf_filesrc(files, value, NULL, NULL);
    }

    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attr), &value) ==
        0) {
        frame->line = value;
    }
}

/* Find the scopes around the code of an address, innermost first, in an array
 * for the caller to free. dwarf_getscopes() alone does not do: after an inlined
 * function it goes on with the definition of the function. */
static int get_scopes(Dwarf_Die *cu, Dwarf_Addr address, Dwarf_Die **scopes_p)
{
    Dwarf_Die *lexical = NULL;
    int count;

    count = dwarf_getscopes(cu, address, &lexical);
    if (count > 0) {
        count = dwarf_getscopes_die(&lexical[0], scopes_p);
    }

    free(lexical);
    return count;
}

/* Find the frames of an address in the debug information, with inlined
 * functions */
static unsigned find_scopes(const predreg_module_t *module, uint64_t address,
                            predreg_frame_t *frames, unsigned max)
{
    Dwarf_Die *scopes = NULL;
    unsigned count    = 0;
    Dwarf_Die *cu;
    Dwarf_Addr bias;
    int num_scopes, i, tag;

    cu = dwfl_module_addrdie(module->symbols, address, &bias);
    if (cu == NULL) {
        return 0;
    }

    find_line(module, address, &frames[0]);
    num_scopes = get_scopes(cu, address - bias, &scopes);
    for (i = 0; (i < num_scopes) && (count < max); ++i) {
        tag = dwarf_tag(&scopes[i]);
        if ((tag != DW_TAG_inlined_subroutine) && (tag != DW_TAG_subprogram)) {
            continue;
        }

        frames[count++].function = dwarf_diename(&scopes[i]);
        if (tag == DW_TAG_subprogram) {
            break;
        }

        if (count < max) {
            find_call(cu, &scopes[i], &frames[count]);
        }
    }

    free(scopes);
    return count;
}

/* Find the frames at the address of a call instruction, or inside of it: their
 * fields function, file and line.
 * @return the number of frames; 0 if nothing is known. */
static unsigned find_frames(const predreg_module_t *module, uint64_t address,
                            predreg_frame_t *frames, unsigned max)
{
    unsigned count = find_scopes(module, address, frames, max);
    const char *name;

    if (count > 0) {
        return count;
    }

    name = dwfl_module_addrname(module->symbols, address);
    if (name == NULL) {
        return 0;
    }

    frames[0].function = name;
    find_line(module, address, &frames[0]);
    return 1;
}

#else

static void open_module(predreg_module_t *module)
{
    module->state = PREDREG_MODULE_NOT_READ;
}

static void close_module(predreg_module_t *module)
{
}

static unsigned find_frames(const predreg_module_t *module, uint64_t address,
                            predreg_frame_t *frames, unsigned max)
{
    return 0;
}

#endif

void predreg_symbols_cleanup(predreg_symbols_t *symbols)
{
    unsigned i;

    for (i = 0; i < symbols->num_modules; ++i) {
        close_module(&symbols->modules[i]);
        free(symbols->modules[i].path);
    }

    free(symbols->modules);
}

static int is_module(const predreg_module_t *module,
                     const ucs_rcache_trace_module_t *recorded)
{
    return !strcmp(module->path, recorded->path) &&
           (module->build_id_length == recorded->build_id_length) &&
           !memcmp(module->build_id, recorded->build_id,
                   recorded->build_id_length);
}

/* Find a module, and open it the first time: ranks have the same modules */
static const predreg_module_t *
get_module(predreg_symbols_t *symbols,
           const ucs_rcache_trace_module_t *recorded)
{
    predreg_module_t *module;
    unsigned i;

    for (i = 0; i < symbols->num_modules; ++i) {
        if (is_module(&symbols->modules[i], recorded)) {
            return &symbols->modules[i];
        }
    }

    module  = predreg_add(symbols->modules, symbols->num_modules);
    *module = (predreg_module_t){
        .path            = predreg_copy(recorded->path, strlen(recorded->path)),
        .build_id_length = recorded->build_id_length
    };
    memcpy(module->build_id, recorded->build_id, recorded->build_id_length);
    open_module(module);
    return module;
}

static const ucs_rcache_trace_module_t *
find_recorded(const ucs_rcache_trace_t *trace, uint64_t address)
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

unsigned predreg_symbols_find(predreg_symbols_t *symbols,
                              const ucs_rcache_trace_t *trace, uint64_t address,
                              predreg_frame_t *frames, unsigned max)
{
    const ucs_rcache_trace_module_t *recorded;
    const predreg_module_t *module;
    unsigned count = 0;
    unsigned i;

    /* A return address may be the begin of the next function, if the call is the last
     * instruction of its own function. The byte before belongs to the call */
    recorded = find_recorded(trace, address - 1);
    if (recorded == NULL) {
        frames[0] = (predreg_frame_t){ .offset = address };
        return 1;
    }

    module   = get_module(symbols, recorded);
    address -= recorded->bias;
    if (module->state == PREDREG_MODULE_READ) {
        count = find_frames(module, address - 1, frames, max);
    }
    if (count == 0) {
        count     = 1;
        frames[0] = (predreg_frame_t){ .function = NULL };
    }

    for (i = 0; i < count; ++i) {
        frames[i].module = module->path;
        frames[i].offset = address;
    }

    return count;
}

int predreg_module_is_communication(const char *path)
{
    static const char *const prefixes[] = {
        "libuct",    "libucp",     "libucs",    "libucm",   "libucc",
        "libmpi",    "libpmpi",    "libopen-",  "libopal",  "liboshmem",
        "mca_",      "libfabric",  "libibverbs", NULL
    };

    return predreg_is_any(basename(path), prefixes, 1);
}
