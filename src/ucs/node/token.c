/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "token.h"
#include "shm.h"

#include <ucs/debug/log_def.h>

#include <errno.h>

/* One page, which is never touched, of a size that other programs hardly use */
#define TOKEN_SIZE 2903


static ucs_rcache_pred_token_t token_of(int shmid, const struct shmid_ds *ds)
{
    return ((uint64_t)shmid << 32) | (uint32_t)ds->shm_ctime;
}

ucs_status_t ucs_rcache_pred_token_create(ucs_rcache_pred_token_t *token_p,
                                          void **addr_p)
{
    struct shmid_ds ds;
    int shmid;

    *addr_p = pred_shm_create(TOKEN_SIZE, &shmid);
    if (*addr_p == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }

    if ((shmctl(shmid, IPC_RMID, NULL) != 0) ||
        (shmctl(shmid, IPC_STAT, &ds) != 0)) {
        ucs_error("failed to mark System V shared memory for removal: %m");
        ucs_rcache_pred_token_destroy(*addr_p);
        return UCS_ERR_UNSUPPORTED;
    }

    *token_p = token_of(shmid, &ds);
    return UCS_OK;
}

void ucs_rcache_pred_token_destroy(void *addr)
{
    shmdt(addr);
}

int ucs_rcache_pred_token_is_gone(ucs_rcache_pred_token_t token)
{
    int shmid       = token >> 32;
    int saved_errno = errno;
    struct shmid_ds ds;
    int gone;

    if (shmctl(shmid, IPC_STAT, &ds) == 0) {
        gone = !pred_shm_is_own(&ds, TOKEN_SIZE) ||
               (token_of(shmid, &ds) != token) || (ds.shm_nattch == 0);
    } else {
        /* Memory of another user has got the number by now, or it is free. If
         * it cannot be found out for any other reason, the process is taken for
         * alive */
        gone = (errno == EINVAL) || (errno == EIDRM) || (errno == EACCES);
    }

    errno = saved_errno;
    return gone;
}
