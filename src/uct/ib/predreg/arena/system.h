/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCT_PREDREG_ARENA_SYSTEM_H_
#define UCT_PREDREG_ARENA_SYSTEM_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>

BEGIN_C_DECLS

/** @file system.h
 *
 * The kernel's calls for memory, past UCM: what the arena does with its own
 * addresses is none of the program's calls, and must not come back as one. Any
 * thread, memory hooks included: nothing is allocated or logged. The functions
 * that return an int return 0 or -1 and set errno, as those of libc.
 */

/** Reserve addresses, so that nobody else gets them. They may not be accessed.
 *
 * @param [in] length  Bytes, a multiple of the page size, as align.
 * @param [in] align   A power of 2.
 * @return NULL if there are none. */
void *uct_predreg_system_reserve(size_t length, size_t align);

/** Map new memory that may be read and written. @return NULL if that failed.
 *
 * @param [in] address  Where, whatever is there; NULL: anywhere. */
void *uct_predreg_system_map(void *address, size_t length);

int uct_predreg_system_munmap(void *address, size_t length);

/** Move memory, whatever it is, and leave a mapping where it was, so that nobody
 *  else gets the addresses meanwhile.
 *
 * @param [in] target  Where to, whatever is there; then the length stays what it
 *                     is. NULL: anywhere.
 * @return NULL if that failed, and nothing was done; before Linux 5.7, and up to
 *         5.12 for files, it always does. */
void *uct_predreg_system_move(void *address, size_t length, size_t new_length,
                              void *target);

int uct_predreg_system_madvise(void *address, size_t length, int advice);

/** Let memory consist of huge pages, as far as there are any and nobody has it
 *  registered: fewer pages to be pinned, and to be moved. Takes some 0.2 ms for 1 MiB
 *  that consists of others.
 *
 * @param [in] address  A multiple of the page size. */
void uct_predreg_system_collapse(void *address, size_t length);

/** Whatever happens to memory when it is new: it may be read and written, is not
 *  locked, is inherited by children and so on. Undoes what a program has done to
 *  memory by calls of the kernel, as far as the memory stays what it is; it consists of
 *  huge pages where there are any. @return 0 if the kernel refuses, as it does if there
 *  are too many mappings: then only some of that was done. */
int uct_predreg_system_renew(void *address, size_t length);

/** New memory in place of memory that nobody has registered. @return 0 if the kernel
 *  refuses: then nothing has changed. */
int uct_predreg_system_anew(void *address, size_t length);

/* Operations of an arena, see ucs_arena_ops_t; the argument is not used */

ucs_status_t
uct_predreg_system_op_map(void *arg, void *start, size_t length);

ucs_status_t
uct_predreg_system_op_unmap(void *arg, void *start, size_t length);

ucs_status_t
uct_predreg_system_op_discard(void *arg, void *start, size_t length);

ucs_status_t uct_predreg_system_op_protect(void *arg, void *start,
                                           size_t length, int is_accessible);

ucs_status_t uct_predreg_system_op_inherit(void *arg, void *start,
                                           size_t length, int is_inherited);

END_C_DECLS

#endif
