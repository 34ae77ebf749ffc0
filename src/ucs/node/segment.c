/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "segment.h"

#include <ucs/debug/log_def.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

/* No other user may attach the memory */
#define SHM_MODE 0600

/* Size of a sign of life, bytes. Nobody touches its page: the size only tells
 * such memory apart, since other programs hardly use this size */
#define TOKEN_SIZE 2903

/*
 * How processes that start together agree on one segment. A lock would need a name,
 * and anybody who takes the name first, such as another user, could keep all other
 * processes out.
 *
 * A process that finds no agreed segment makes one, which is open, marks the
 * segment for removal, so that others find it, and then looks at all segments. The
 * process closes the open segments of others with higher numbers, and so takes from
 * their owners the right to agree; if there is a lower number, or an agreed
 * segment, the process gives up its own. Last it makes its own segment agreed, if
 * nobody has closed the segment meanwhile. The losers start again, and find the
 * agreed one.
 *
 * At most one is ever agreed: of two processes, the one that marked its segment
 * last sees the other segment when looking, since a segment keeps its index as long
 * as it exists, and closes the other one, or gives up its own. One of them gets on:
 * nobody closes the open segment with the lowest number. A process that stops with
 * its segment open would keep others waiting; after PATIENCE tries, they close its
 * segment. If the process was killed, its segment is gone.
 */

/* The states of a segment. Sequentially consistent */
#define STATE_OPEN   0 /* New memory */
#define STATE_AGREED 1
#define STATE_CLOSED 2

/* How often a process looks for an agreed segment, and the wait in between, ns. At
 * first the wait is shorter: processes that start together have agreed within
 * microseconds */
#define ATTEMPTS          500
#define INTERVAL_NSEC     2000000
#define INTERVAL_NSEC_MIN 50000

/* After so many attempts a process closes even open segments whose numbers are lower
 * than the one of its own segment */
#define PATIENCE      100


/* @return whether the memory has this size, and nobody but this user can have
 * made the memory, or can attach it */
static int shm_is_own(const struct shmid_ds *ds, size_t size)
{
    return (ds->shm_perm.uid == geteuid()) &&
           (ds->shm_perm.cuid == geteuid()) &&
           ((ds->shm_perm.mode & 0777) == SHM_MODE) && (ds->shm_segsz == size);
}

/* @return whether the maker of the memory was killed before marking the memory. A
 * process of another PID name space has the number 0 here. */
static int is_left_over(const struct shmid_ds *ds, size_t size)
{
    return shm_is_own(ds, size) && !(ds->shm_perm.mode & SHM_DEST) &&
           (ds->shm_perm.__key == IPC_PRIVATE) && (ds->shm_nattch == 0) &&
           (ds->shm_cpid > 0) && (kill(ds->shm_cpid, 0) != 0) &&
           (errno == ESRCH);
}

/* @return the highest index of memory in the system */
static int last_index(void)
{
    struct shm_info info;

    return shmctl(0, SHM_INFO, (struct shmid_ds*)&info);
}

static void remove_left_over(size_t size)
{
    int last = last_index();
    struct shmid_ds ds;
    int index, shmid;

    for (index = 0; index <= last; ++index) {
        shmid = shmctl(index, SHM_STAT, &ds);
        if ((shmid >= 0) && is_left_over(&ds, size)) {
            shmctl(shmid, IPC_RMID, NULL);
        }
    }
}

/*
 * Make memory without a key for this user alone, and attach it: zeros. Nobody else
 * can hold a name of the memory, and the kernel tells who made it. The caller marks
 * the memory for removal as soon as it is ready, and then the memory goes with the
 * last process that detaches. Memory of the same size is removed first if a killed
 * process has left it unmarked. @return NULL if the kernel refuses, logged
 */
static void *shm_create(size_t size, int *shmid_p)
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


static _Atomic(uint64_t) *state_of(ucs_rcache_pred_segment_header_t *segment)
{
    return (_Atomic(uint64_t)*)&segment->state;
}

/* Attach the memory at an index of the system, if it is a segment of this user
 * with this id, in whatever state. */
static ucs_rcache_pred_segment_header_t *
segment_try(int index, const ucs_rcache_pred_segment_id_t *id, size_t size,
            int *shmid_p)
{
    ucs_rcache_pred_segment_header_t *segment;
    struct shmid_ds ds;

    /* Fails for an unused index, and for segments of other users */
    *shmid_p = shmctl(index, SHM_STAT, &ds);
    if ((*shmid_p < 0) || !shm_is_own(&ds, size) ||
        !(ds.shm_perm.mode & SHM_DEST)) {
        return NULL;
    }

    segment = shmat(*shmid_p, NULL, 0);
    if (segment == (void*)-1) {
        return NULL; /* The last process left meanwhile */
    }

    if (memcmp(&segment->id, id, sizeof(*id))) {
        shmdt(segment);
        return NULL;
    }

    return segment;
}

ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_find(const ucs_rcache_pred_segment_id_t *id,
                             size_t size)
{
    int last = last_index();
    ucs_rcache_pred_segment_header_t *segment;
    int index, shmid;

    /* A segment keeps its index as long as it exists: the walk finds the agreed one
     * even if other segments come and go meanwhile */
    for (index = 0; index <= last; ++index) {
        segment = segment_try(index, id, size, &shmid);
        if (segment == NULL) {
            continue;
        }

        if (atomic_load(state_of(segment)) == STATE_AGREED) {
            return segment;
        }
        shmdt(segment);
    }

    return NULL;
}

ucs_rcache_pred_segment_header_t *
ucs_rcache_pred_segment_propose(const ucs_rcache_pred_segment_id_t *id,
                                size_t size, int *shmid_p)
{
    ucs_rcache_pred_segment_header_t *segment;

    segment = shm_create(size, shmid_p);
    if (segment == NULL) {
        return NULL;
    }

    segment->id = *id;
    /* Mark the segment last, when it is attached and has its id: other processes find
     * it from now on, and the kernel removes a marked segment at once if nobody has
     * attached it */
    if (shmctl(*shmid_p, IPC_RMID, NULL) != 0) {
        ucs_error("failed to mark System V shared memory for removal: %m");
        shmdt(segment);
        return NULL;
    }

    return segment;
}

/* @return whether the owner of another segment can no longer make that segment
 * the agreed one. Closes the other segment if this process may do so. */
static int makes_way(ucs_rcache_pred_segment_header_t *other, int may_close)
{
    uint64_t state = STATE_OPEN;

    if (may_close) {
        atomic_compare_exchange_strong(state_of(other), &state, STATE_CLOSED);
        return state != STATE_AGREED;
    }

    return atomic_load(state_of(other)) == STATE_CLOSED;
}

/* Try to make the own segment the agreed one. @return whether it is. */
static int segment_elect(const ucs_rcache_pred_segment_id_t *id, size_t size,
                         ucs_rcache_pred_segment_header_t *own, int own_shmid,
                         int is_patient)
{
    int won        = 1;
    int last       = last_index();
    uint64_t state = STATE_OPEN;
    ucs_rcache_pred_segment_header_t *other;
    int index, shmid;

    for (index = 0; (index <= last) && won; ++index) {
        other = segment_try(index, id, size, &shmid);
        if (other == NULL) {
            continue;
        }

        won = (shmid == own_shmid) ||
              makes_way(other, !is_patient || (shmid > own_shmid));
        shmdt(other);
    }

    if (won && atomic_compare_exchange_strong(state_of(own), &state,
                                              STATE_AGREED)) {
        return 1;
    }

    /* A child that was forked meanwhile may keep the segment attached, so
     * others may still find it */
    atomic_store(state_of(own), STATE_CLOSED);
    return 0;
}

ucs_status_t
ucs_rcache_pred_segment_attach(const ucs_rcache_pred_segment_id_t *id,
                               size_t size,
                               ucs_rcache_pred_segment_header_t **segment_p)
{
    struct timespec interval = { 0, INTERVAL_NSEC_MIN };
    int shmid;
    unsigned i;

    for (i = 0; i < ATTEMPTS; ++i) {
        *segment_p = ucs_rcache_pred_segment_find(id, size);
        if (*segment_p != NULL) {
            return UCS_OK;
        }

        *segment_p = ucs_rcache_pred_segment_propose(id, size, &shmid);
        if (*segment_p == NULL) {
            return UCS_ERR_UNSUPPORTED;
        }

        if (segment_elect(id, size, *segment_p, shmid, i < PATIENCE)) {
            return UCS_OK;
        }

        shmdt(*segment_p);
        nanosleep(&interval, NULL);
        interval.tv_nsec = ucs_min(2 * interval.tv_nsec, INTERVAL_NSEC);
    }

    ucs_error("the processes of user %u have not agreed on shared memory "
              "within %d ms", (unsigned)geteuid(),
              ATTEMPTS * (INTERVAL_NSEC / 1000000));
    return UCS_ERR_UNSUPPORTED;
}

void ucs_rcache_pred_segment_detach(ucs_rcache_pred_segment_header_t *segment)
{
    shmdt(segment);
}


static ucs_rcache_pred_token_t token_of(int shmid, const struct shmid_ds *ds)
{
    return ((uint64_t)shmid << 32) | (uint32_t)ds->shm_ctime;
}

ucs_status_t ucs_rcache_pred_token_create(ucs_rcache_pred_token_t *token_p,
                                          void **addr_p)
{
    struct shmid_ds ds;
    int shmid;

    *addr_p = shm_create(TOKEN_SIZE, &shmid);
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
        gone = !shm_is_own(&ds, TOKEN_SIZE) ||
               (token_of(shmid, &ds) != token) || (ds.shm_nattch == 0);
    } else {
        /* Memory of another user has got the number by now, or the number is free.
         * For any other error the process is taken for alive */
        gone = (errno == EINVAL) || (errno == EIDRM) || (errno == EACCES);
    }

    errno = saved_errno;
    return gone;
}
