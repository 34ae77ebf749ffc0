/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "shm.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* No other user may attach the memory */
#define SHM_MODE 0600


int pred_shm_is_own(const struct shmid_ds *ds, size_t size)
{
    return (ds->shm_perm.uid == geteuid()) &&
           (ds->shm_perm.cuid == geteuid()) &&
           ((ds->shm_perm.mode & 0777) == SHM_MODE) && (ds->shm_segsz == size);
}

/* Whether the process that made the memory was killed before it had marked it.
 * A process of another PID name space has the number 0 here. */
static int is_left_over(const struct shmid_ds *ds, size_t size)
{
    return pred_shm_is_own(ds, size) && !(ds->shm_perm.mode & SHM_DEST) &&
           (ds->shm_perm.__key == IPC_PRIVATE) && (ds->shm_nattch == 0) &&
           (ds->shm_cpid > 0) && (kill(ds->shm_cpid, 0) != 0) &&
           (errno == ESRCH);
}

static void remove_left_over(size_t size)
{
    struct shm_info info;
    struct shmid_ds ds;
    int index, last, shmid;

    last = shmctl(0, SHM_INFO, (struct shmid_ds*)&info);
    for (index = 0; index <= last; ++index) {
        shmid = shmctl(index, SHM_STAT, &ds);
        if ((shmid >= 0) && is_left_over(&ds, size)) {
            shmctl(shmid, IPC_RMID, NULL);
        }
    }
}

void *pred_shm_create(size_t size, int *shmid_p)
{
    void *addr;

    remove_left_over(size);
    *shmid_p = shmget(IPC_PRIVATE, size, SHM_MODE);
    if (*shmid_p < 0) {
        goto err;
    }

    addr = shmat(*shmid_p, NULL, 0);
    if (addr == (void*)-1) {
        goto err_remove;
    }

    return addr;

err_remove:
    shmctl(*shmid_p, IPC_RMID, NULL);
err:
    ucs_error("failed to create %zu bytes of System V shared memory: %m. "
              "Limits are kernel.shmmax, shmall and shmmni; 'ipcs -m' lists "
              "what there is", size);
    return NULL;
}
