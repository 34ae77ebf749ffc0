/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_SHM_H_
#define UCS_RCACHE_PRED_SHM_H_

#include <stddef.h>
#include <sys/ipc.h>
#include <sys/shm.h>

/** @file shm.h
 *
 * System V shared memory without a key. Nobody else can hold a name of it, and
 * the kernel tells who made it. segment.c and token.c call these functions,
 * from any thread.
 */

/**
 * Make memory that only this user may attach, and attach it: zeros. It is to be
 * marked for removal (IPC_RMID) as soon as it is ready; from then on it goes
 * when the last process detaches it. What a process left that was killed before
 * it had marked memory of the same size is removed first.
 *
 * @param [in]  size     Bytes. A number that other programs hardly use.
 * @param [out] shmid_p  Its number.
 *
 * @return the memory, or NULL, logged.
 */
void *pred_shm_create(size_t size, int *shmid_p);

/** @return whether only this user can have made the memory, with this size, and
 *          can attach it. */
int pred_shm_is_own(const struct shmid_ds *ds, size_t size);

#endif
