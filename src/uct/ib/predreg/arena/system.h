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
 * The kernel's calls for memory, past UCM: the arena's own calls must not come back as
 * calls of the program. Any thread, memory hooks included: nothing is allocated or
 * logged. uct_predreg_system_munmap() and uct_predreg_system_madvise() return 0, or -1
 * and set errno, as in libc.
 */

/** Reserve addresses, so that nobody else gets them. The addresses may not be accessed.
 *
 * @param [in] length  Bytes, a multiple of the page size, as is align.
 * @param [in] align   A power of 2.
 * @return NULL if there are no such addresses. */
void *uct_predreg_system_reserve(size_t length, size_t align);

/** Map new memory that may be read and written. @return NULL if the kernel refuses.
 *
 * @param [in] address  Where to map the memory, whatever is there; NULL: anywhere. */
void *uct_predreg_system_map(void *address, size_t length);

int uct_predreg_system_munmap(void *address, size_t length);

/** Move any mapping, and leave a mapping at the old addresses, so that nobody else gets
 *  the addresses meanwhile.
 *
 * @param [in] target  Where to move the mapping, whatever is there; new_length must then
 *                     be the same as length. NULL: anywhere.
 * @return NULL if the move failed, and nothing was done. Before Linux 5.7, and up to 5.12
 *         for files, each move fails. */
void *uct_predreg_system_move(void *address, size_t length, size_t new_length,
                              void *target);

int uct_predreg_system_madvise(void *address, size_t length, int advice);

/** Have the kernel make huge pages of unregistered memory, as far as there are any: then
 *  there are fewer pages to pin, and to move. Takes some 0.2 ms for 1 MiB of other pages.
 *
 * @param [in] address  A multiple of the page size. */
void uct_predreg_system_collapse(void *address, size_t length);

/** Let memory be like new, but keep its contents: the memory can be read and written, is
 *  not locked, is inherited by children and so on, and has huge pages where there are
 *  any.
 *  @return 0 if the kernel refuses, as with too many mappings: then some of
 *  the program's changes may be undone already. */
int uct_predreg_system_renew(void *address, size_t length);

/** Map new memory in place of memory that nobody has registered. @return 0 if the kernel
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
