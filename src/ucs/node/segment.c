/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "segment.h"

#include <ucs/base/hash.h>

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* No other user may attach a segment */
#define SEGMENT_MODE 0600

/* A process tries so many times to get the lock, and waits so long in between.
 * A walk over some hundred segments takes less than 1 ms, so that even a node
 * full of processes that start together has enough time. */
#define LOCK_ATTEMPTS      500
#define LOCK_INTERVAL_NSEC 2000000


/* The key is a hash of all that identifies a segment. */
key_t ucs_rcache_pred_segment_key(const ucs_rcache_pred_segment_id_t *id)
{
    uint64_t hash;

    hash = ucs_rcache_pred_hash_word(id->magic + id->version);
    hash = ucs_rcache_pred_hash_word(hash + id->key);
    hash = ucs_rcache_pred_hash_word(hash + geteuid());
    return (key_t)((hash >> 32) | 1); /* IPC_PRIVATE is 0 */
}

/* Whether only this user can have created the segment, and can use it */
static int segment_is_own(const struct shmid_ds *ds, size_t size)
{
    return (ds->shm_perm.uid == geteuid()) &&
           (ds->shm_perm.cuid == geteuid()) &&
           ((ds->shm_perm.mode & 0777) == SEGMENT_MODE) &&
           (ds->shm_segsz == size);
}

static void *segment_map(int shmid)
{
    void *addr = shmat(shmid, NULL, 0);

    return (addr == (void*)-1) ? NULL : addr;
}

static ucs_rcache_pred_segment_header_t *
segment_try(int index, const ucs_rcache_pred_segment_id_t *id, size_t size)
{
    ucs_rcache_pred_segment_header_t *segment;
    struct shmid_ds ds;
    int shmid;

    /* Fails for an unused index, and for a segment that this user may not
     * see */
    shmid = shmctl(index, SHM_STAT, &ds);
    if ((shmid < 0) || !segment_is_own(&ds, size) ||
        !(ds.shm_perm.mode & SHM_DEST)) {
        return NULL;
    }

    segment = segment_map(shmid);
    if (segment == NULL) {
        return NULL; /* The last process left meanwhile */
    }

    if (memcmp(&segment->id, id, sizeof(*id)) || (segment->uid != geteuid())) {
        shmdt(segment);
        return NULL;
    }

    return segment;
}

ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_find(const ucs_rcache_pred_segment_id_t *id,
                             size_t size)
{
    ucs_rcache_pred_segment_header_t *segment;
    struct shm_info info;
    int index, last;

    /* A segment keeps its index as long as it exists, so that the walk finds it
     * even if others come and go meanwhile */
    last = shmctl(0, SHM_INFO, (struct shmid_ds*)&info);
    for (index = 0; index <= last; ++index) {
        segment = segment_try(index, id, size);
        if (segment != NULL) {
            return segment;
        }
    }

    return NULL;
}

/*
 * Called under the lock. IPC_EXCL is not set: a creator that was killed before
 * it marked its segment has left one that nobody uses, which is taken and
 * marked.
 */
static ucs_rcache_pred_segment_header_t *
segment_create(const ucs_rcache_pred_segment_id_t *id, size_t size)
{
    ucs_rcache_pred_segment_header_t *segment;
    struct shmid_ds ds;
    int shmid;

    shmid = shmget(ucs_rcache_pred_segment_key(id), size,
                   IPC_CREAT | SEGMENT_MODE);
    if ((shmid < 0) || (shmctl(shmid, IPC_STAT, &ds) != 0)) {
        goto err;
    }

    if (!segment_is_own(&ds, size) || (ds.shm_nattch > 0)) {
        errno = EEXIST;
        goto err;
    }

    segment = segment_map(shmid);
    if (segment == NULL) {
        goto err;
    }

    segment->id  = *id;
    segment->uid = geteuid();

    /* Not earlier: others find the segment from now on, and a marked segment
     * that is not attached is removed at once */
    if (shmctl(shmid, IPC_RMID, NULL) != 0) {
        goto err_detach;
    }

    return segment;

err_detach:
    shmdt(segment);
err:
    ucs_error("failed to create %zu bytes of System V shared memory with key "
              "0x%x: %m. Limits are kernel.shmmax, shmall and shmmni; "
              "'ipcs -m' lists what there is",
              size, (int)ucs_rcache_pred_segment_key(id));
    return NULL;
}

/*
 * The lock is the name of a socket in the abstract namespace. One process at a
 * time can have it, and the kernel takes it away from a process that dies. If
 * another thread forks meanwhile, the child has it too, until it runs another
 * program or ends.
 */
int ucs_rcache_pred_segment_lock(const ucs_rcache_pred_segment_id_t *id)
{
    struct sockaddr_un addr        = { .sun_family = AF_UNIX };
    const struct timespec interval = { 0, LOCK_INTERVAL_NSEC };
    unsigned i;
    int length, fd;

    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        ucs_error("failed to create a unix socket: %m");
        return -1;
    }

    /* A leading zero: the abstract namespace. The length ends the name. */
    length = snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1,
                      "ucx-predreg.%u.%08x", (unsigned)geteuid(),
                      (unsigned)ucs_rcache_pred_segment_key(id));
    length += offsetof(struct sockaddr_un, sun_path) + 1;

    for (i = 0; i < LOCK_ATTEMPTS; ++i) {
        if (bind(fd, (struct sockaddr*)&addr, length) == 0) {
            return fd;
        }

        if (errno != EADDRINUSE) {
            break;
        }
        nanosleep(&interval, NULL);
    }

    ucs_error("failed to bind the abstract unix socket '%s' within %d ms: %m",
              addr.sun_path + 1,
              LOCK_ATTEMPTS * (LOCK_INTERVAL_NSEC / 1000000));
    close(fd);
    return -1;
}

ucs_status_t
ucs_rcache_pred_segment_attach(const ucs_rcache_pred_segment_id_t *id,
                               size_t size,
                               ucs_rcache_pred_segment_header_t **segment_p)
{
    ucs_rcache_pred_segment_header_t *segment;
    int lock_fd;

    lock_fd = ucs_rcache_pred_segment_lock(id);
    if (lock_fd < 0) {
        return UCS_ERR_UNSUPPORTED;
    }

    segment = ucs_rcache_pred_segment_find(id, size);
    if (segment == NULL) {
        segment = segment_create(id, size);
    }

    close(lock_fd);
    if (segment == NULL) {
        return UCS_ERR_UNSUPPORTED;
    }

    *segment_p = segment;
    return UCS_OK;
}

void ucs_rcache_pred_segment_detach(ucs_rcache_pred_segment_header_t *segment)
{
    shmdt(segment);
}
