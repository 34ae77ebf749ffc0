/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "debuginfo.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>


struct predreg_debuginfo {
    Dwfl        *dwfl;
    Dwfl_Module *module;
};

/* Debug information may be in a separate file. libdw looks for it in this path,
 * as debuggers do */
static char *debuginfo_path;

static const Dwfl_Callbacks debuginfo_callbacks = {
    .find_debuginfo  = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path  = &debuginfo_path
};


static int debuginfo_is_build_id(Dwfl_Module *module, const uint8_t *build_id,
                             unsigned length)
{
    const unsigned char *bits;
    GElf_Addr address;
    GElf_Addr bias;

    if (length == 0) {
        return 1;
    }

    /* libdw finds the build ID when the file is open */
    return (dwfl_module_getelf(module, &bias) != NULL) &&
           (dwfl_module_build_id(module, &bits, &address) == (int)length) &&
           !memcmp(bits, build_id, length);
}

/* Whether libdw can be given this file. It would wait for a writer if the trace
 * named a pipe. */
static int is_regular_file(const char *path)
{
    struct stat st;

    return (stat(path, &st) == 0) && S_ISREG(st.st_mode);
}

ucs_status_t predreg_debuginfo_open(const char *path, const uint8_t *build_id,
                                unsigned length, predreg_debuginfo_t **info_p)
{
    predreg_debuginfo_t *info;
    ucs_status_t status;

    if (!is_regular_file(path)) {
        return UCS_ERR_NO_ELEM;
    }

    info = malloc(sizeof(*info));
    if (info == NULL) {
        return UCS_ERR_NO_MEMORY;
    }

    info->dwfl = dwfl_begin(&debuginfo_callbacks);
    if (info->dwfl == NULL) {
        status = UCS_ERR_NO_MEMORY;
        goto err_free;
    }

    /* The module is placed at address 0, so that addresses are those in the
     * file itself */
    info->module = dwfl_report_elf(info->dwfl, path, path, -1, 0, 1);
    if ((info->module == NULL) ||
        (dwfl_report_end(info->dwfl, NULL, NULL) != 0)) {
        status = UCS_ERR_NO_ELEM;
        goto err_end;
    }

    if (!debuginfo_is_build_id(info->module, build_id, length)) {
        status = UCS_ERR_REJECTED;
        goto err_end;
    }

    *info_p = info;
    return UCS_OK;

err_end:
    dwfl_end(info->dwfl);
err_free:
    free(info);
    return status;
}

void predreg_debuginfo_close(predreg_debuginfo_t *info)
{
    dwfl_end(info->dwfl);
    free(info);
}

static void debuginfo_find_line(predreg_debuginfo_t *info, uint64_t address,
                            predreg_frame_t *frame)
{
    Dwfl_Line *line = dwfl_module_getsrc(info->module, address);

    frame->file = NULL;
    frame->line = 0;
    if (line != NULL) {
        frame->file = dwfl_lineinfo(line, NULL, &frame->line, NULL, NULL, NULL);
    }
}

/* Find where a function was inlined, which is the line of the frame around
 * it */
static void debuginfo_find_call(Dwarf_Die *cu, Dwarf_Die *scope,
                            predreg_frame_t *frame)
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

/* Find the scopes that contain the code of an address, innermost first.
 * dwarf_getscopes() alone does not do, since after an inlined function it goes
 * on with the place where that function was written. The caller frees the
 * array. */
static int debuginfo_get_scopes(Dwarf_Die *cu, Dwarf_Addr address,
                                Dwarf_Die **scopes_p)
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

/* Find the frames of an address in the debug information, inlined functions
 * included */
static unsigned debuginfo_find_scopes(predreg_debuginfo_t *info,
                                      uint64_t address, predreg_frame_t *frames,
                                      unsigned max)
{
    Dwarf_Die *scopes = NULL;
    unsigned count    = 0;
    Dwarf_Die *cu;
    Dwarf_Addr bias;
    int num_scopes, i, tag;

    cu = dwfl_module_addrdie(info->module, address, &bias);
    if (cu == NULL) {
        return 0;
    }

    debuginfo_find_line(info, address, &frames[0]);
    num_scopes = debuginfo_get_scopes(cu, address - bias, &scopes);
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
            debuginfo_find_call(cu, &scopes[i], &frames[count]);
        }
    }

    free(scopes);
    return count;
}

unsigned predreg_debuginfo_find(predreg_debuginfo_t *info, uint64_t address,
                            predreg_frame_t *frames, unsigned max)
{
    unsigned count = debuginfo_find_scopes(info, address, frames, max);
    const char *name;

    if (count > 0) {
        return count;
    }

    name = dwfl_module_addrname(info->module, address);
    if (name == NULL) {
        return 0;
    }

    frames[0].function = name;
    debuginfo_find_line(info, address, &frames[0]);
    return 1;
}
