/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "account.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EMPTY {.lock = PTHREAD_MUTEX_INITIALIZER}

typedef struct account {
    pthread_mutex_t lock;            /* Protects all fields */
    double          begin;           /* Seconds; 0: not begun */
    double          last;            /* When byte_seconds was updated */
    size_t          pinned;          /* Now */
    size_t          peak;
    double          byte_seconds;    /* Of pinned, until last */
    double          adapter_seconds;
    unsigned        domains;         /* That are open */
    unsigned long   uses;
    unsigned long   registrations;
    unsigned long   deregistrations;
} account_t;

static account_t account = EMPTY;


static double now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Count what was pinned until now. To be called under the lock, before the
 * amount changes */
static void update(void)
{
    double time = now();

    account.byte_seconds += account.pinned * (time - account.last);
    account.last          = time;
}

void account_begin(void)
{
    pthread_mutex_lock(&account.lock);
    if (account.begin == 0) {
        account.begin = now();
        account.last  = account.begin;
    }
    pthread_mutex_unlock(&account.lock);
}

void account_opened(void)
{
    pthread_mutex_lock(&account.lock);
    ++account.domains;
    pthread_mutex_unlock(&account.lock);
}

void account_closed(void)
{
    pthread_mutex_lock(&account.lock);
    /* A forked child closes domains that its account knows nothing of */
    if ((account.domains > 0) && (--account.domains == 0)) {
        update();
    }
    pthread_mutex_unlock(&account.lock);
}

void account_use(void)
{
    pthread_mutex_lock(&account.lock);
    ++account.uses;
    pthread_mutex_unlock(&account.lock);
}

void account_pinned(size_t bytes, double adapter_seconds)
{
    pthread_mutex_lock(&account.lock);
    update();
    ++account.registrations;
    account.adapter_seconds += adapter_seconds;
    account.pinned          += bytes;
    if (account.pinned > account.peak) {
        account.peak = account.pinned;
    }
    pthread_mutex_unlock(&account.lock);
}

void account_released(size_t bytes, double adapter_seconds)
{
    pthread_mutex_lock(&account.lock);
    update();
    ++account.deregistrations;
    account.adapter_seconds += adapter_seconds;
    account.pinned          -= bytes;
    pthread_mutex_unlock(&account.lock);
}

void account_forked(void)
{
    account = (account_t)EMPTY;
}

/* What the kernel counts, bytes; 0 if it does not tell */
static unsigned long vm_pin(void)
{
    FILE *stream       = fopen("/proc/self/status", "r");
    unsigned long kilo = 0;
    char line[256];

    if (stream == NULL) {
        return 0;
    }

    while (fgets(line, sizeof(line), stream) != NULL) {
        if (sscanf(line, "VmPin: %lu kB", &kilo) == 1) {
            break;
        }
    }
    fclose(stream);
    return kilo * 1024;
}

__attribute__((destructor)) static void account_print(void)
{
    const char *file = getenv("NATIVE_STAT");
    char line[768];
    double seconds;
    int fd, length;

    if ((file == NULL) || (account.begin == 0)) {
        return;
    }

    pthread_mutex_lock(&account.lock);
    if (account.domains > 0) {
        update();
    }
    seconds = account.last - account.begin;
    length  = snprintf(
            line, sizeof(line),
            "{\"pid\":%d,\"program\":\"%s\",\"seconds\":%.6f,\"uses\":%lu,"
            "\"registrations\":%lu,\"deregistrations\":%lu,"
            "\"adapter_seconds\":%.6f,\"pinned_average_bytes\":%.0f,"
            "\"pinned_peak_bytes\":%zu,\"pinned_bytes\":%zu,"
            "\"vm_pin_bytes\":%lu}\n",
            getpid(), program_invocation_short_name, seconds, account.uses,
            account.registrations, account.deregistrations,
            account.adapter_seconds,
            (seconds > 0) ? account.byte_seconds / seconds : 0.0, account.peak,
            account.pinned, vm_pin());
    pthread_mutex_unlock(&account.lock);

    /* A line in one call, so that lines of several processes do not mix */
    fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if ((fd < 0) || (write(fd, line, length) != length)) {
        fprintf(stderr, "native rig: NATIVE_STAT=%s: %s\n", file,
                strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}
