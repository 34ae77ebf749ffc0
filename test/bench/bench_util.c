/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_util.h"

#include <ucs/sys/math.h>

#include <limits.h>
#include <linux/capability.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>


void bench_sample_init(bench_sample_t *sample, unsigned max)
{
    sample->count = 0;
    sample->max   = max;
    sample->value = calloc(max, sizeof(*sample->value));
    BENCH_ASSERT(sample->value != NULL, "out of memory");
}

void bench_sample_cleanup(bench_sample_t *sample)
{
    free(sample->value);
}

void bench_sample_add(bench_sample_t *sample, double value)
{
    BENCH_ASSERT(sample->count < sample->max, "more rounds than announced");
    sample->value[sample->count++] = value;
}

static int compare_values(const void *a, const void *b)
{
    double x = *(const double*)a;
    double y = *(const double*)b;

    return (x > y) - (x < y);
}

static void sort_values(bench_sample_t *sample)
{
    qsort(sample->value, sample->count, sizeof(*sample->value),
          compare_values);
}

double bench_sample_quantile(bench_sample_t *sample, double quantile)
{
    if (sample->count == 0) {
        return NAN;
    }

    sort_values(sample);
    return sample->value[(unsigned)(quantile * (sample->count - 1) + 0.5)];
}

double bench_sample_midmean(bench_sample_t *sample)
{
    unsigned first = sample->count / 4;
    unsigned last  = sample->count - first;
    double sum     = 0;
    unsigned i;

    sort_values(sample);
    for (i = first; i < last; ++i) {
        sum += sample->value[i];
    }
    return sum / (last - first);
}

void *bench_map(size_t length)
{
    void *address = mmap(NULL, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (address == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }

    memset(address, 1, length);
    return address;
}

/* A line of /proc/self/status, in the format given; 0 if it is not there */
static size_t read_status(const char *format)
{
    size_t value = 0;
    char line[256];
    FILE *file;

    file = fopen("/proc/self/status", "r");
    BENCH_ASSERT(file != NULL, "cannot read /proc/self/status");
    while ((fgets(line, sizeof(line), file) != NULL) &&
           (sscanf(line, format, &value) != 1));
    fclose(file);
    return value;
}

size_t bench_vmpin(void)
{
    return read_status("VmPin: %zu kB") * 1024;
}

void bench_raise_memlock(size_t needed)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    if ((setrlimit(RLIMIT_MEMLOCK, &limit) == 0) ||
        (read_status("CapEff: %zx") & UCS_BIT(CAP_IPC_LOCK))) {
        return;
    }

    /* Without privileges the soft limit can still be raised to the hard one */
    getrlimit(RLIMIT_MEMLOCK, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur < needed) {
        printf("SKIP: locked memory is limited to %zu kB (ulimit -l), needed "
               "are %zu kB\n", (size_t)limit.rlim_cur / 1024, needed / 1024);
        exit(BENCH_SKIP);
    }
}

void bench_pin(unsigned index)
{
    static cpu_set_t permitted;
    cpu_set_t chosen;
    unsigned cpu;

    /* The processors are looked up at the first call: threads that are started
     * later inherit only the one that this leaves */
    if (CPU_COUNT(&permitted) == 0) {
        sched_getaffinity(0, sizeof(permitted), &permitted);
    }

    if (index >= (unsigned)CPU_COUNT(&permitted)) {
        return;
    }

    for (cpu = 0; !CPU_ISSET(cpu, &permitted) || (index-- > 0); ++cpu);

    CPU_ZERO(&chosen);
    CPU_SET(cpu, &chosen);
    sched_setaffinity(0, sizeof(chosen), &chosen);
}

unsigned bench_parse_count(const char *name, const char *text)
{
    char *end;
    long value = strtol(text, &end, 0);

    if ((end == text) || (*end != '\0') || (value < 1) || (value > INT_MAX)) {
        fprintf(stderr, "%s: '%s' is not a number from 1 to %d\n", name, text,
                INT_MAX);
        exit(2);
    }
    return value;
}

void bench_print_machine(void)
{
    struct utsname name;
    double load = NAN;

    uname(&name);
    getloadavg(&load, 1);
    printf("kernel %s, %s, %ld processors, load average %.2f, UCX %s\n",
           name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN), load,
           PREDREG_UCX_VERSION_STRING);
}
