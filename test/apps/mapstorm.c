/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

/*
 * A storm of signals whose handler does to memory of the program what the kernel
 * offers: maps a file over a part of it, unmaps a part, has it read as zero, makes
 * it shorter, unmaps it and maps other memory there, several times. Meanwhile the program maps and unmaps other memory all the time, so
 * that many of the signals come while it is in the library. After each the program
 * looks at every byte, and whether memory that has other pages now is still in a
 * registration that was made before.
 *
 * usage: mapstorm [COMPONENT [ROUNDS [MICROSECONDS]]]
 */

#include "domain.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define LENGTH   (512ul << 10) /* Of the memory that the handler changes */
#define PART     (128ul << 10) /* The second quarter of it is changed */
#define OTHER    (256ul << 10) /* Of what is mapped meanwhile */
#define ROUNDS   4000
#define INTERVAL 50
#define REPLACES 8 /* How often memory is replaced */
#define FLAGS    (UCT_MD_MEM_ACCESS_RMA | UCT_MD_MEM_FLAG_HIDE_ERRORS)

/* What the handler does */
enum {
    MAP_FILE_OVER,
    UNMAP,
    DISCARD,
    SHORTEN,
    REPLACE,
    NUM_KINDS
};

static const char *const kind_names[] = {
    "map a file over a part", "unmap a part", "discard a part", "shorten",
    "replace"
};

/* Memory for the handler; NULL: none. Written by the program while it is NULL, and
 * then by the handler, which sets it to NULL again */
static char *volatile volunteer;
static volatile sig_atomic_t kind;
static volatile sig_atomic_t result; /* errno of the call */
/* How often the handler has replaced it: that is in its first byte. The handler's, and
 * set to 0 by the program while there is no memory for it */
static volatile sig_atomic_t num_replaced;
static volatile sig_atomic_t num_lost; /* What it has written there was not found */
static int file;


/* Unmap memory, and map other memory there. @return whether that has failed */
static int replace(char *memory)
{
    if ((num_replaced > 0) && (memory[0] != num_replaced)) {
        ++num_lost;
    }
    if ((munmap(memory, LENGTH) != 0) ||
        (mmap(memory, LENGTH, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != memory)) {
        return 1;
    }

    memory[0] = ++num_replaced;
    return 0;
}

static void on_signal(int signum)
{
    int saved_errno = errno;
    char *memory    = volunteer;
    int failed      = 0;

    if (memory == NULL) {
        return;
    }

    switch (kind) {
    case MAP_FILE_OVER:
        failed = (mmap(memory + PART, PART, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, file, 0) != memory + PART);
        break;
    case UNMAP:
        failed = (munmap(memory + PART, PART) != 0);
        break;
    case DISCARD:
        failed = (madvise(memory + PART, PART, MADV_DONTNEED) != 0);
        break;
    case SHORTEN:
        failed = (mremap(memory, LENGTH, PART, 0) != memory);
        break;
    case REPLACE:
        failed = replace(memory);
        break;
    }
    result = failed ? errno : 0;
    if (failed || (kind != REPLACE) || (num_replaced == REPLACES)) {
        volunteer = NULL;
    }
    errno = saved_errno;
}

static char *map(size_t length)
{
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

static void block(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(how, &set, NULL);
}

static void start(int interval)
{
    struct sigaction action = {
        .sa_handler = on_signal,
        .sa_flags   = SA_RESTART
    };
    struct itimerval timer = {{0, interval}, {0, interval}};

    sigaction(SIGALRM, &action, NULL);
    block(SIG_UNBLOCK);
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int is_all(const char *memory, size_t length, char value)
{
    size_t i;

    for (i = 0; i < length; ++i) {
        if (memory[i] != value) {
            return 0;
        }
    }
    return 1;
}

/* Whether both are in one registration */
static int is_together(uct_md_h md, char *one, char *other)
{
    uct_mem_h memhs[2];

    /* Nothing that the library keeps for later is asked for twice */
    CHECK(uct_md_mem_reg(md, one, PART, FLAGS, &memhs[0]) == UCS_OK);
    CHECK(uct_md_mem_reg(md, other, PART, FLAGS, &memhs[1]) == UCS_OK);
    CHECK(uct_md_mem_dereg(md, memhs[0]) == UCS_OK);
    CHECK(uct_md_mem_dereg(md, memhs[1]) == UCS_OK);
    return memhs[0] == memhs[1];
}

/* @return what is wrong with memory that was replaced */
static const char *look_at_replaced(const char *memory)
{
    if ((num_lost > 0) || (memory[0] != REPLACES)) {
        return "what the handler has written";
    }
    return is_all(memory + 1, LENGTH - 1, 0) ? NULL : "bytes behind that";
}

/* @return what is wrong */
static const char *look(uct_md_h md, char *memory)
{
    if (kind == REPLACE) {
        return look_at_replaced(memory);
    }
    if (!is_all(memory, PART, 1)) {
        return "bytes before it";
    }
    if ((kind != SHORTEN) && !is_all(memory + 2 * PART, LENGTH - 2 * PART, 1)) {
        return "bytes behind it";
    }
    if (kind == MAP_FILE_OVER) {
        if (!is_all(memory + PART, PART, 2)) {
            return "bytes of the file";
        }
        if (is_together(md, memory, memory + PART)) {
            return "registration of other pages";
        }
    }
    if ((kind == DISCARD) && !is_all(memory + PART, PART, 0)) {
        return "bytes that were discarded";
    }
    return NULL;
}

/* Unmap what the handler has left: UCX may have mapped something where there is nothing */
static void give_back(char *memory)
{
    if (result != 0) {
        munmap(memory, LENGTH);
        return;
    }

    munmap(memory, PART);
    if ((kind != UNMAP) && (kind != SHORTEN)) {
        munmap(memory + PART, PART);
    }
    if (kind != SHORTEN) {
        munmap(memory + 2 * PART, LENGTH - 2 * PART);
    }
}

/* Wait for a signal, in the library for the most part */
static void be_busy(void)
{
    while (volunteer != NULL) {
        munmap(map(OTHER), OTHER);
    }
}

int main(int argc, char **argv)
{
    uct_md_h md             = app_open_domain((argc > 1) ? argv[1] : "ib");
    int rounds              = (argc > 2) ? atoi(argv[2]) : ROUNDS;
    int interval            = (argc > 3) ? atoi(argv[3]) : INTERVAL;
    unsigned bad[NUM_KINDS] = {0}, refused[NUM_KINDS] = {0};
    unsigned errors = 0, num_together = 0;
    const char *wrong;
    char *memory;
    int i;

    file = memfd_create("mapstorm", 0);
    CHECK((file >= 0) && (ftruncate(file, PART) == 0));
    memory = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(memory != MAP_FAILED);
    memset(memory, 2, PART);
    munmap(memory, PART);

    block(SIG_BLOCK);
    start(interval);
    for (i = 0; i < rounds; ++i) {
        block(SIG_BLOCK);
        memory = map(LENGTH);
        memset(memory, 1, LENGTH);
        num_together += is_together(md, memory, memory + PART);
        block(SIG_UNBLOCK);
        kind         = i % NUM_KINDS;
        num_replaced = 0;
        volunteer    = memory;
        be_busy();

        block(SIG_BLOCK);
        refused[kind] += (result != 0);
        wrong = (result != 0) ? NULL : look(md, memory);
        if (wrong != NULL) {
            if (bad[kind]++ == 0) {
                fprintf(stderr, "mapstorm: %s, round %d: %s\n",
                        kind_names[kind], i, wrong);
            }
        }
        give_back(memory);
        block(SIG_UNBLOCK);
    }
    block(SIG_BLOCK);
    setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);

    for (i = 0; i < NUM_KINDS; ++i) {
        printf("mapstorm: %s: %u wrong, %u refused\n", kind_names[i], bad[i],
               refused[i]);
        errors += bad[i] + refused[i];
    }
    printf("mapstorm: %u of %d were in one registration before\n", num_together,
           rounds);
    uct_md_close(md);
    return errors > 0;
}
