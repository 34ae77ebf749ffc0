/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_INFO_ELF_FILE_H_
#define PREDREG_INFO_ELF_FILE_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file elf_file.h
 *
 * What the file of a program tells without running it. target.c calls this.
 */

typedef enum {
    PREDREG_ELF_NONE,    /**< No program of this machine's kind: a script, or
                              something else */
    PREDREG_ELF_DYNAMIC, /**< It is started by a dynamic loader */
    PREDREG_ELF_STATIC   /**< It is not */
} predreg_elf_kind_t;


/**
 * Find the dynamic loader of a program.
 *
 * @param [out] loader_p  Path of the loader, to be freed, if there is one.
 */
predreg_elf_kind_t predreg_elf_loader(const char *path, char **loader_p);

/** @return whether a process that runs this file gets rights that the caller
 *  lacks: by set-user-ID, set-group-ID, or capabilities of the file. The
 *  dynamic loader then does not preload, ld.so(8). */
int predreg_file_is_privileged(const char *path);

END_C_DECLS

#endif
