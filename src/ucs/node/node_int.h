/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef UCS_RCACHE_PRED_NODE_INT_H_
#define UCS_RCACHE_PRED_NODE_INT_H_

#include "limit.h"
#include "node.h"
#include "segment.h"

#include <ucs/base/relaxed.h>

#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>

BEGIN_C_DECLS

/** @file node_int.h
 *
 * The shared memory of a node's processes, for the files of this folder and the tests.
 *
 * A slot belongs to the process whose sign of life (segment.h) is in the owner field.
 * Only the owner writes the rest of the slot, except for fields whose comment names
 * another writer. The slot of a dead process changes hands: another process swaps
 * itself in for the dead one, clears the slot and sets the slot free. If that process
 * is killed before the end, the slot is a dead process's again. A free slot is all
 * zeros. An owner field names one process for all times, so a slot that names a dead
 * process belongs to the dead process, however often the slot changed hands before.
 *
 * The owner of a slot is dead, and its share is registered no more, if both of
 * these are true:
 * - The sign is gone. As long as a forked child of the process has the sign, the child
 * has the descriptors of the process as well, and they keep the memory registered.
 * - The process itself is dead, as far as others can find out: the kernel takes the
 * sign from a process before closing the files. A process of other PID or time name
 * spaces cannot be found; there the sign decides alone, and for some milliseconds the
 * share of a process that has just ended may be given to others too early. A process
 * that runs another program (exec) is not dead either: its share stays until the
 * process ends, or joins again.
 *
 * A lock of an open file description (F_OFD_SETLK) would be inherited by a fork and
 * freed at the end as well; held by a mapping, the lock even outlives the
 * registrations. But its file needs a name: another user could take the name, a process
 * with a /dev/shm of its own would not find the file, and systemd-logind removes the
 * file when the user logs out from the node. Then living processes would be taken for
 * dead.
 *
 * The bounds are kept without a lock. A process first adds its wish to its slot, then
 * sums all slots; if the sum is above the bound, the process takes its part back and
 * fails. Hence a slot holds at all times at least the grants that its process has not
 * given back. The proof that the bound is kept: suppose that at some instant
 * more than the bound is granted. Take the grant that was added to its slot
 * last. All other grants were in their slots before, and stayed there until
 * that instant. The sum that the last grant has computed in between had all
 * grants in it, and so was above the bound; but then the last one was not
 * granted: a contradiction. It makes no difference whether threads of one
 * process have several grants in one slot. "Before" refers to the single order
 * in which all processes see the sequentially consistent operations on bytes,
 * regions and num_used. Memory is registered after its grant and deregistered
 * before the grant is given back, and a dead process has none registered; so
 * registered memory does not exceed the bound either.
 *
 * A process that is refused and can make no room itself asks the others for the missing
 * room (wanted). The others deregister idle memory until the room is there:
 * each release takes its size off the wanted room. Deregistering takes time, so
 * a helper takes the size off before it begins (an offer), and the other
 * helpers stop at once. If the process asks again before the offered memory was
 * released, more may be deregistered than is missing. Keys are asked for in the same way,
 * but only offers are taken off the wanted keys; an ask counts for 100 ms (ask.c).
 */

#define UCS_RCACHE_PRED_NODE_MAGIC   0x7072656472656721ull /* "predreg!" */
/** Version of the layout of the shared memory: every change of the layout raises it. */
#define UCS_RCACHE_PRED_NODE_VERSION 9

/** Number of slots, and so of processes at most: more than any node has processors so
 *  far. */
#define UCS_RCACHE_PRED_NODE_SLOTS   1024

/** Words of an affinity mask. */
#define UCS_RCACHE_PRED_NODE_CPU_WORDS (CPU_SETSIZE / 64)


/** The name of a process: its pid and its start time. The kernel may give the pid to
 *  another process later, but no other process has the same pair. 0: none. */
typedef uint64_t ucs_rcache_pred_procid_t;

/** Bits of a pid: Linux gives out none above 2^22 (PID_MAX_LIMIT). The other 42
 *  hold 1394 years of clock ticks at the usual 100 a second. */
#define UCS_RCACHE_PRED_PROCID_PID_BITS 22


/** @return the name of the process with a pid and a start time, clock ticks after boot. */
static inline ucs_rcache_pred_procid_t
ucs_rcache_pred_procid(pid_t pid, uint64_t start_time)
{
    return (start_time << UCS_RCACHE_PRED_PROCID_PID_BITS) | pid;
}

/** @return the pid in the name of a process. */
static inline pid_t ucs_rcache_pred_procid_pid(ucs_rcache_pred_procid_t id)
{
    return id & ((1u << UCS_RCACHE_PRED_PROCID_PID_BITS) - 1);
}


/** A line of /proc/PID/stat, see proc(5). */
typedef struct ucs_rcache_pred_procstat {
    char     state;       /**< Field 3 */
    uint64_t num_threads; /**< Field 20 */
    uint64_t start_time;  /**< Field 22, clock ticks after boot */
} ucs_rcache_pred_procstat_t;


/**
 * Parse the text of a line of /proc/PID/stat. Pure.
 *
 * @return UCS_ERR_INVALID_PARAM if the text is no such line.
 */
ucs_status_t ucs_rcache_pred_procstat_parse(const char *line,
                                            ucs_rcache_pred_procstat_t *stat);

/**
 * @return whether the process that started at @a start_time is gone, or has given up
 *         its memory already. Pure.
 */
int ucs_rcache_pred_procstat_is_dead(const ucs_rcache_pred_procstat_t *stat,
                                     uint64_t start_time);

/** @return the name of the calling process, or 0 if /proc cannot be read. */
ucs_rcache_pred_procid_t ucs_rcache_pred_procid_self(void);

/**
 * @return whether a process is certainly dead. In doubt, the process is taken for
 *         alive.
 */
int ucs_rcache_pred_procid_is_dead(ucs_rcache_pred_procid_t id);


typedef struct ucs_rcache_pred_node_slot {
    /** A @ref ucs_rcache_pred_token_t, or 0 if the slot is free. A joining process
     *  swaps itself in for 0 (acquire: it finds the zeros), a process that clears the
     *  slot swaps itself in for a dead one, and the owner writes 0 (release). In one
     *  cache line with the numbers to be summed. */
    _Atomic(uint64_t) owner UCS_V_ALIGNED(64);
    _Atomic(uint64_t) bytes;   /**< Bytes granted, or being asked for.
                                    Sequentially consistent */
    _Atomic(uint64_t) regions; /**< Regions granted, or being asked for.
                                   Sequentially consistent */
    /** The @ref ucs_rcache_pred_procid_t of the owner, and its PID and time
     *  name spaces, in which alone the name is true. 0: not written yet. Relaxed:
     *  read only if the owner's sign of life is gone, so that the owner writes
     *  no more */
    _Atomic(uint64_t) procid;
    _Atomic(uint64_t) names;
    /** The devices of which the owner has keys or will have some, one bit each.
     *  Sequentially consistent: an entry without a bit may get another name, see keys.c */
    _Atomic(uint64_t) devices;
    /** How many keys of each. Relaxed: sums are advice */
    _Atomic(uint64_t) keys[UCS_RCACHE_PRED_NODE_DEVICES];
    /** Registered bytes of the owner lately, on average. Relaxed, as all
     *  further fields: each word is a number by itself. A reader that sees only
     *  half of a new mask makes a worse choice, and soon another one. */
    _Atomic(uint64_t) demand;
    /** The time of the owner's helper on a processor, @ref pred_node_helper_t */
    _Atomic(uint64_t) helper;
    /** The value of helper at the last look, but with the processor that the look gave;
     *  and the seat of the owner, @ref pred_node_word_t; 0: no look has seen the owner.
     *  Written by the process that looks, and set to 0 with the slot */
    _Atomic(uint64_t) helper_seen;
    _Atomic(uint64_t) seat;
    /** Whether the owner's helper thread sleeps until it is woken by wakeups: set by the
     *  owner, and cleared by the process that wakes it. Sequentially consistent, as asks
     *  and its reader: either the thread sees an ask, or the asking process sees that the
     *  thread sleeps */
    _Atomic(uint64_t) sleeps;
    /** What the owner's thread waits for. Made by the owner before its thread starts; posted
     *  by the owner, and by a process that has cleared sleeps */
    sem_t             wakeups;
    /** Processors to which the launcher has bound the owner, and to which its threads
     *  could be bound */
    _Atomic(uint64_t) affinity[UCS_RCACHE_PRED_NODE_CPU_WORDS];
    _Atomic(uint64_t) usable[UCS_RCACHE_PRED_NODE_CPU_WORDS];
} ucs_rcache_pred_node_slot_t;


/** The time of a helper's thread on its processor so far. */
typedef union pred_node_helper {
    struct {
        uint64_t cpu  : 11; /**< Number of the processor plus 1; 0: the thread
                                 is not bound to a single processor, or there is
                                 no thread */
        uint64_t usec : 53; /**< Processor time */
    };
    uint64_t word;
} pred_node_helper_t;

/** A seat, as @ref ucs_rcache_pred_node_seat_t. */
typedef union pred_node_word {
    struct {
        uint64_t cpu     : 11; /**< Number of the processor plus 1; 0: the
                                    processors of the process */
        uint64_t has_cpu : 1;  /**< Whether this helper has the processor for
                                    itself */
        uint64_t is_half : 1;  /**< Whether a sibling of the processor is busy */
        uint64_t sharers : 11;
        uint64_t rank    : 11;
        uint64_t procs   : 11;
        uint64_t share   : 17; /**< In parts of UCS_RCACHE_PRED_NODE_SHARE_ONE, more
                                    than 0 */
    };
    uint64_t word;
} pred_node_word_t;

#define UCS_RCACHE_PRED_NODE_SHARE_ONE 65536


/** What the last look has found out about the processors. Written by the process that
 *  looks for all processes, see watch.c. */
typedef struct pred_node_watch {
    /** When the last look began, CLOCK_MONOTONIC, ns; 0: there was none. The
     *  process that changes the time takes the look. Acquire and release: the
     *  process that looks next finds the fields that the last look has written */
    _Atomic(uint64_t) time;
    _Atomic(uint64_t) cost; /**< Processor time that the last look took, ns.
                                 Relaxed, as idle */
    /** For how long each processor had been idle at the last look, ns. If two
     *  processes look at a time, since the first one was stopped meanwhile, a
     *  busy processor may be taken for idle until the next look */
    _Atomic(uint64_t) idle[CPU_SETSIZE];
} pred_node_watch_t;


/** What a process has asked the others to give up: the most that one has asked for, less
 *  what was given up since. Written by the processes that ask, give up, or give back.
 *  Relaxed: each is a number by itself; if several processes change them at a time, a
 *  little more or less is deregistered */
typedef struct pred_node_wanted {
    _Atomic(uint64_t) bytes;
    _Atomic(uint64_t) regions;
    /** For how long nobody will use what shall give way, ns, as the last process has
     *  asked */
    _Atomic(uint64_t) idle;
    _Atomic(uint64_t) time; /**< When it has asked, CLOCK_MONOTONIC, ns */
} pred_node_wanted_t;


/** A device, and what its refusals have told the processes of a job. */
typedef struct pred_node_device {
    _Atomic(uint64_t)       name; /**< 0: none so far. Sequentially consistent */
    ucs_rcache_pred_limit_t limit;
    pred_node_wanted_t      wanted; /**< Missing keys; no bytes */
    _Atomic(uint64_t)       told; /**< What the processes have told their user of it, a
                                       bit each. Relaxed: who sets a bit tells */
} pred_node_device_t;


typedef struct ucs_rcache_pred_node_shm {
    ucs_rcache_pred_segment_header_t header;
    /** Slots from this index on have never had an owner. Only grows, before the slot is
     *  taken. Sequentially consistent: if a process that sums the slots does
     *  not see the index of a new slot here yet, the process has added its own
     *  part before the owner of the new slot adds anything. */
    _Atomic(uint32_t)                 num_used UCS_V_ALIGNED(64);
    /** How often a process has asked for room or keys. See sleeps, and
     *  ucs_rcache_pred_node_is_asked() */
    _Atomic(uint64_t)                 asks UCS_V_ALIGNED(64);
    /** The missing room within the bounds of the node. In one cache line with asks,
     *  which a reader has just read */
    pred_node_wanted_t                wanted;
    pred_node_device_t               devices[UCS_RCACHE_PRED_NODE_DEVICES]
                                             UCS_V_ALIGNED(64);
    pred_node_watch_t                watch UCS_V_ALIGNED(64);
    ucs_rcache_pred_node_slot_t      slots[UCS_RCACHE_PRED_NODE_SLOTS];
} ucs_rcache_pred_node_shm_t;


struct ucs_rcache_pred_node {
    /* Constant after join */
    ucs_rcache_pred_node_params_t params;
    ucs_rcache_pred_token_t       self;      /**< Sign of life of this process, in
                                                  the owner field of its slot */
    void                          *token;    /**< Memory of the sign of life */
    ucs_rcache_pred_procid_t      procid;
    uint64_t                      names;     /**< Number of the PID and time name
                                                  spaces of this process */
    ucs_rcache_pred_node_shm_t    *shm;
    ucs_rcache_pred_node_slot_t   *slot;
    cpu_set_t                     usable;    /**< Processors on which this process could
                                                  run, see cpus.h. A later change of the
                                                  cpuset is not noticed */
    uint16_t                      cores[CPU_SETSIZE]; /**< See cpus.h */
    uint64_t                      joined;    /**< CLOCK_MONOTONIC, ns */
    int                           has_thread; /**< Whether a thread of this process waits
                                                  for wakeups of the slot. Written once,
                                                  before that thread starts */

    /** Index of the slot at which pred_node_reap() goes on. Any thread adds to the
     *  index; relaxed: going on anywhere is right */
    _Atomic(unsigned)              reap_hand;
    /** This process's part of shm->asks. Written by any thread that asks, before
     *  shm->asks. Relaxed: see ucs_rcache_pred_node_is_asked() */
    _Atomic(uint64_t)              own_asks;
    /** The other processes' part of shm->asks at the last look of
     *  ucs_rcache_pred_node_is_asked(), which writes the number. Relaxed: the number
     *  only grows */
    _Atomic(uint64_t)              asks_seen;
};


/* slot.c: slots, and whether their owners are dead. Any thread may call these functions,
 * and waits for nobody in them, unless a comment says otherwise */

/** @return how many slots, from the first one, have ever had an owner. */
unsigned pred_node_num_used(const ucs_rcache_pred_node_t *node);

/**
 * Give this process a slot, after taking back the slots of dead processes. One thread
 * of the process at a time may call this function and the next two.
 *
 * @return UCS_ERR_NO_RESOURCE if all slots have other owners, logged.
 */
ucs_status_t pred_slot_take_any(ucs_rcache_pred_node_t *node);

/** Clear a slot of this process, and then set the slot free. */
void pred_slot_free(ucs_rcache_pred_node_slot_t *slot);

/** Write a set of processors into a field of a slot. */
void pred_slot_set_cpus(_Atomic(uint64_t) *words, const cpu_set_t *cpus);

/** Read a set of processors from a field of a slot. */
void pred_slot_get_cpus(const _Atomic(uint64_t) *words, cpu_set_t *cpus);

/** How many slots a process looks at before it is refused. Each takes a system
 *  call of 0.3 us. Where there are more slots, a later refusal finds the dead
 *  process, or an update does, which looks at all slots. */
#define PRED_NODE_REAP_SOME 16

/** Look at @a max slots at most, from the slot after the last look on, and take back the
 *  slots of dead processes, with their shares. @return how many slots were taken back. */
unsigned pred_node_reap(ucs_rcache_pred_node_t *node, unsigned max);


/* watch.c: who has which processor. One process at a time looks for all, and writes the
 * seats of all: the kernel takes milliseconds for its counts where there are hundreds of
 * processors. One thread at a time */

/** Look, if a look is due and no other process looks. */
void pred_node_watch(ucs_rcache_pred_node_t *node, uint64_t now);

/** @return the seat of this process by the last look. */
pred_node_word_t pred_node_get_seat(const ucs_rcache_pred_node_t *node);


/* node.c */

/** @return the identity of the segment where the processes with a key meet. */
ucs_rcache_pred_segment_id_t pred_node_segment_id(uint64_t key);

/**
 * As @ref ucs_rcache_pred_node_join, but join under the name of any process, and only
 * processes with the same key. So a test can let one process join as several processes.
 */
ucs_status_t pred_node_join_as(const ucs_rcache_pred_node_params_t *params,
                               uint64_t key, ucs_rcache_pred_procid_t procid,
                               ucs_rcache_pred_node_t **node_p);

/** Take the reserve of a process that has a slot. @return UCS_ERR_EXCEEDS_LIMIT if it does
 *  not fit a bound, logged. */
ucs_status_t pred_node_hold_reserve(ucs_rcache_pred_node_t *node);

/** As @ref ucs_rcache_pred_node_update, at a time of CLOCK_MONOTONIC, ns. */
void pred_node_update_at(ucs_rcache_pred_node_t *node, uint64_t now, uint64_t demand,
                         uint64_t busy, ucs_rcache_pred_node_seat_t *seat);

/** Detach shared memory, and free the rest. The slot stays as it is, as at the end of a
 *  process. */
void pred_node_close(ucs_rcache_pred_node_t *node);

END_C_DECLS

#endif
