/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "pin.h"
#include "account.h"
#include "pieces.h"
#include "../bench/uring_reg.h"

#include <ucs/debug/log_def.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#define PAGE_SIZE 4096ul

struct pin {
    unsigned generation; /* Of the process that pinned it */
    unsigned num_parts;
    void     *start;
    size_t   num_pages;
    size_t   num_pieces; /* As the adapter was told the pages */
    void     *parts[];   /* Registrations of io_uring, which are of limited
                            size each */
};

/* The time that an adapter takes, seconds */
typedef struct cost {
    double call;
    double piece;
} cost_t;

/* Calls that shall fail, by their number from 1 */
typedef struct failure {
    unsigned long first;
    unsigned long last;
    int           error;
} failure_t;

static struct {
    pthread_once_t once;       /* For the rings */
    pthread_once_t mappings;   /* For those that are taken; also in a forked child */
    unsigned       generation; /* Raised in each forked child */
    atomic_ulong   regs;       /* How many were asked for so far */
    atomic_ulong   deregs;     /* Likewise */
    /* Constant after the start */
    cost_t         reg;
    cost_t         dereg;
    size_t         part_bytes; /* In one registration of io_uring, at most */
    unsigned       num_slots;  /* Of each ring */
    failure_t      fail_reg;   /* Which registrations shall fail */
    failure_t      fail_dereg; /* Likewise */
    int            protects;   /* Whether a forked child shall not get the memory */
    int            keys;       /* The set of one semaphore that counts the keys
                                  that are left on the node; -1: no limit */
    int            no_key;     /* errno of a registration that gets no key */
} pins = {
    .once     = PTHREAD_ONCE_INIT,
    .mappings = PTHREAD_ONCE_INIT
};


static void forked(void)
{
    const pthread_once_t once = PTHREAD_ONCE_INIT;

    pins.once = once;
    ++pins.generation;
    uring_reg_forked();
    account_forked();
}

/* The number that a variable has, or the default */
static unsigned long number_of(const char *variable, unsigned long otherwise)
{
    const char *value = getenv(variable);

    return (value == NULL) ? otherwise : strtoul(value, NULL, 0);
}

/* Read which calls shall fail, and how: N, N-LAST or N+, and ",again" or ",perm" after
 * that */
static failure_t failure_of(const char *variable)
{
    const char *value = getenv(variable);
    failure_t failure = {0, 0, ENOMEM};
    char *end;

    if (value == NULL) {
        return failure;
    }

    failure.first = strtoul(value, &end, 10);
    failure.last  = (*end == '-') ? strtoul(end + 1, &end, 10) :
                    (*end == '+') ? ULONG_MAX : failure.first;
    end          += (*end == '+');
    if (!strcmp(end, ",again")) {
        failure.error = EAGAIN;
    } else if (!strcmp(end, ",perm")) {
        failure.error = EPERM;
    } else if (*end != '\0') {
        fprintf(stderr, "native rig: %s=%s: accepted is N, N-LAST or N+, and then "
                ",again or ,perm\n", variable, value);
        exit(125);
    }
    return failure;
}

/* Read NATIVE_ADAPTER_COST=US,US_PER_PAGE[,US,US_PER_PAGE], of a registration
 * and of a deregistration, which by default takes as long as a registration of
 * no pages */
static void read_cost(void)
{
    const char *value = getenv("NATIVE_ADAPTER_COST");
    double us[4]      = {0};
    int num_values;

    if (value == NULL) {
        return;
    }

    num_values = sscanf(value, "%lf,%lf,%lf,%lf", &us[0], &us[1], &us[2],
                        &us[3]);
    if ((num_values != 2) && (num_values != 4)) {
        fprintf(stderr, "native rig: NATIVE_ADAPTER_COST=%s: accepted is "
                "US,US_PER_PAGE[,US,US_PER_PAGE]\n", value);
        exit(125);
    }

    pins.reg   = (cost_t){us[0] * 1e-6, us[1] * 1e-6};
    pins.dereg = (num_values == 2) ? (cost_t){pins.reg.call, 0} :
                                     (cost_t){us[2] * 1e-6, us[3] * 1e-6};
}

/* Read NATIVE_KEYS=SEMAPHORE,ERRNO */
static void read_keys(void)
{
    const char *value = getenv("NATIVE_KEYS");

    pins.keys = -1;
    if ((value != NULL) && (sscanf(value, "%d,%d", &pins.keys, &pins.no_key) != 2)) {
        fprintf(stderr, "native rig: NATIVE_KEYS=%s: accepted is SEMAPHORE,ERRNO\n",
                value);
        exit(125);
    }
}

__attribute__((constructor)) static void pins_start(void)
{
    pins.part_bytes = number_of("NATIVE_PART_BYTES", URING_REG_MAX_LENGTH);
    pins.num_slots  = number_of("NATIVE_SLOTS", URING_REG_MAX_SLOTS);
    pins.fail_reg   = failure_of("NATIVE_FAIL_REG");
    pins.fail_dereg = failure_of("NATIVE_FAIL_DEREG");
    pins.protects   = number_of("NATIVE_FORK_PROTECTION", 0);
    read_keys();
    read_cost();
    pthread_atfork(NULL, NULL, forked);
}

/* Pin memory of the process's own, as a program does that uses verbs itself */
static void pin_own(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                        0);
    void *memh;

    if ((memory == MAP_FAILED) || (uring_reg(memory, length, &memh) != UCS_OK)) {
        fprintf(stderr, "native rig: NATIVE_PINNED=%zu: %s\n", length, strerror(errno));
        _exit(125);
    }
}

/* Take all mappings that the process may have but so many: every other page has other
 * rights */
static void take_mappings(unsigned long left)
{
    size_t pages = 1ul << 21;
    char *memory = mmap(NULL, pages * PAGE_SIZE, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    size_t i     = 1;

    while ((i < pages) && (mprotect(memory + i * PAGE_SIZE, PAGE_SIZE, PROT_READ) == 0)) {
        i += 2;
    }

    if ((memory == MAP_FAILED) || (i >= pages)) {
        fprintf(stderr, "native rig: NATIVE_MAPPINGS: a process may have too many\n");
        _exit(77);
    }

    for (; (left >= 2) && (i >= 2); left -= 2) {
        i -= 2;
        mprotect(memory + i * PAGE_SIZE, PAGE_SIZE, PROT_NONE);
    }
}

static void rings_start(void)
{
    unsigned long own = number_of("NATIVE_PINNED", 0);

    if (uring_reg_init(pins.num_slots) != UCS_OK) {
        fprintf(stderr, "native rig: memory cannot be pinned here\n");
        _exit(77);
    }
    pieces_start();
    account_begin();
    if (own > 0) {
        pin_own(own);
    }
}

/* At the first registration: MPI and the program have made their mappings by then */
static void mappings_start(void)
{
    unsigned long left = number_of("NATIVE_MAPPINGS", 0);

    if (left > 0) {
        take_mappings(left);
    }
}

void pin_start(void)
{
    pthread_once(&pins.once, rings_start);
}

static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Keep this thread busy from a time on, as the system does that waits for an adapter.
 * @return for how many seconds. */
static double adapter_take(const cost_t *cost, double begin, size_t num_pieces)
{
    double seconds = cost->call + cost->piece * num_pieces;

    if (seconds > 0) {
        while (now() < begin + seconds) {
        }
    }
    return seconds;
}

/* Count a call. @return whether it shall fail; errno says why then */
static int is_chosen(atomic_ulong *calls, const failure_t *failure)
{
    unsigned long call = atomic_fetch_add(calls, 1) + 1;

    errno = failure->error;
    return (call >= failure->first) && (call <= failure->last);
}

/* Take a key of the node, or give it back. The kernel gives back what a process has
 * that ends. @return 0, or -1 with errno set if there is none left. */
static int keys_add(int num)
{
    struct sembuf op = {0, num, IPC_NOWAIT | SEM_UNDO};

    if ((pins.keys < 0) || (semop(pins.keys, &op, 1) == 0)) {
        return 0;
    }

    if (errno != EAGAIN) {
        fprintf(stderr, "native rig: cannot count keys: %s\n", strerror(errno));
        abort();
    }

    errno = pins.no_key;
    return -1;
}

static int error_of(ucs_status_t status)
{
    switch (status) {
    case UCS_ERR_INVALID_ADDR:
        return EFAULT;
    case UCS_ERR_NO_MEMORY:
    case UCS_ERR_EXCEEDS_LIMIT:
        return ENOMEM;
    default:
        return EIO;
    }
}

/* Release the registrations of a pin from the last on; stops at one that cannot
 * be released */
static ucs_status_t parts_release(pin_t *pin)
{
    ucs_status_t status;

    while (pin->num_parts > 0) {
        status = uring_dereg(pin->parts[pin->num_parts - 1]);
        if (status != UCS_OK) {
            return status;
        }
        --pin->num_parts;
    }

    return UCS_OK;
}

static ucs_status_t parts_pin(pin_t *pin, uintptr_t start, uintptr_t end)
{
    ucs_status_t status;
    uintptr_t next;

    for (; start < end; start = next) {
        next   = (end - start > pins.part_bytes) ?
                 (start + pins.part_bytes) : end;
        status = uring_reg((void*)start, next - start,
                           &pin->parts[pin->num_parts]);
        if (status != UCS_OK) {
            (void)parts_release(pin);
            return status;
        }
        ++pin->num_parts;
    }

    return UCS_OK;
}

/* Of two registrations that share pages, the first to end ends the protection, which
 * libibverbs counts by page */
static void unprotect(void *start, size_t length)
{
    if (pins.protects) {
        (void)madvise(start, length, MADV_DOFORK);
    }
}

static ucs_status_t pin_pages(void *address, size_t length, pin_t **pin_p)
{
    uintptr_t start  = (uintptr_t)address & ~(PAGE_SIZE - 1);
    uintptr_t end    = ((uintptr_t)address + length + PAGE_SIZE - 1) &
                       ~(PAGE_SIZE - 1);
    size_t max_parts = (end - start) / pins.part_bytes + 1;
    ucs_status_t status;
    double begin;
    pin_t *pin;
    int error;

    pin_start();
    pthread_once(&pins.mappings, mappings_start);
    if (is_chosen(&pins.regs, &pins.fail_reg)) {
        return UCS_ERR_IO_ERROR;
    }

    /* As libibverbs does under fork protection, which splits mappings */
    if (pins.protects && (madvise((void*)start, end - start, MADV_DONTFORK) != 0)) {
        return UCS_ERR_IO_ERROR;
    }

    if (keys_add(-1) != 0) {
        goto err_unprotect;
    }

    pin = malloc(sizeof(*pin) + max_parts * sizeof(pin->parts[0]));
    if (pin == NULL) {
        errno = ENOMEM;
        goto err_give_key;
    }

    pin->generation = pins.generation;
    pin->num_parts  = 0;
    pin->start      = (void*)start;
    pin->num_pages  = (end - start) / PAGE_SIZE;
    status          = parts_pin(pin, start, end);
    if (status != UCS_OK) {
        free(pin);
        errno = error_of(status);
        goto err_give_key;
    }

    begin           = now();
    pin->num_pieces = pieces_count(start, end);
    account_pinned(pin->num_pages * PAGE_SIZE,
                   adapter_take(&pins.reg, begin, pin->num_pieces));
    *pin_p = pin;
    return UCS_OK;

err_give_key:
    error = errno;
    (void)keys_add(1);
    errno = error;
err_unprotect:
    error = errno;
    unprotect((void*)start, end - start);
    errno = error;
    return UCS_ERR_IO_ERROR;
}

ucs_status_t pin_memory(void *address, size_t length, int silent, pin_t **pin_p)
{
    ucs_status_t status = pin_pages(address, length, pin_p);
    int error           = errno;

    if (status != UCS_OK) {
        ucs_log(silent ? UCS_LOG_LEVEL_DEBUG : UCS_LOG_LEVEL_ERROR,
                "native rig: cannot register %zu bytes at %p: %s", length,
                address, strerror(error));
        errno = error;
    }
    return status;
}

ucs_status_t pin_release(pin_t *pin)
{
    if (pin->generation != pins.generation) {
        return UCS_OK;
    }

    if (is_chosen(&pins.deregs, &pins.fail_dereg) ||
        (parts_release(pin) != UCS_OK)) {
        return UCS_ERR_IO_ERROR;
    }

    unprotect(pin->start, pin->num_pages * PAGE_SIZE);
    (void)keys_add(1);
    account_released(pin->num_pages * PAGE_SIZE,
                     adapter_take(&pins.dereg, now(), pin->num_pieces));
    free(pin);
    return UCS_OK;
}
