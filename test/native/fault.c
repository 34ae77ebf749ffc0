/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * A library to preload that lets one call of ucx-predreg's libraries fail: an
 * allocation, the start of a thread, or what they ask of the system to share
 * memory and to write files. Calls by UCX and by the program succeed.
 *
 * Variables:
 *   FAULT=KIND:N       the call number N, from 1, of one of these kinds fails:
 *                      memory, thread, system
 *   FAULT=KIND:N+      likewise, and all that follow
 *   FAULT_LIBRARY=NAME of libraries whose name has this, such as libucp_ for
 *                      libucp_firehose and libucp_windows (libuct_predreg)
 *   FAULT_CHILD=N      in the child number N, from 1, that the process forks, and
 *                      not in itself. Calls are counted from the fork on
 *   FAULT_COUNT        print at exit how many calls of each kind there were
 */

#define EXPORT     __attribute__((visibility("default")))
#define OWN_NAME   "libuct_predreg"
#define MAX_FRAMES 8

typedef enum {
    KIND_MEMORY,
    KIND_THREAD,
    KIND_SYSTEM,
    KIND_LAST
} kind_t;

static const char *const kind_names[KIND_LAST] = {
    [KIND_MEMORY] = "memory",
    [KIND_THREAD] = "thread",
    [KIND_SYSTEM] = "system"
};

/* Written by the constructor, which runs before there are threads; the counters
 * by any thread */
static struct {
    int          ready;
    const char   *library;
    kind_t       kind;   /* KIND_LAST: nothing fails */
    long         number;
    int          further;
    long         child;  /* In which of them, or 0 */
    long         forks;  /* So far. Written by the thread that forks */
    _Atomic long calls[KIND_LAST];
} fault = {
    .library = OWN_NAME,
    .kind    = KIND_LAST
};

/* Not 0: this thread is looking for its caller */
static __thread int looking;


static const char *library_of(void *address)
{
    struct dl_find_object found;

    return (_dl_find_object(address, &found) == 0) ?
           found.dlfo_link_map->l_name : "";
}

/* Whether one of ucx-predreg's libraries has called libc itself. What UCS calls
 * on its behalf does not count: much of UCS ends the process if it gets no
 * memory, under stock UCX as well. */
static int is_own_call(void)
{
    void *frames[MAX_FRAMES];
    const char *library;
    int i, count;

    count = backtrace(frames, MAX_FRAMES);
    for (i = 0; i < count; ++i) {
        library = library_of(frames[i]);
        if (!strstr(library, "libc.so") && !strstr(library, "libfault")) {
            return strstr(library, fault.library) != NULL;
        }
    }

    return 0;
}

/* Where the first call that fails comes from, for whoever looks into it */
static void print_caller(void)
{
    void *frames[MAX_FRAMES];

    looking = 1;
    backtrace_symbols_fd(frames, backtrace(frames, MAX_FRAMES), STDERR_FILENO);
    looking = 0;
}

static int shall_fail(kind_t kind)
{
    long call;
    int own;

    if (!fault.ready || looking) {
        return 0;
    }

    looking = 1;
    own     = is_own_call();
    looking = 0;
    if (!own) {
        return 0;
    }

    call = atomic_fetch_add(&fault.calls[kind], 1) + 1;
    if ((kind != fault.kind) || (fault.child != 0) || (call < fault.number) ||
        (!fault.further && (call > fault.number))) {
        return 0;
    }

    if (call == fault.number) {
        print_caller();
    }
    return 1;
}

static void print_counts(void)
{
    kind_t kind;

    for (kind = 0; kind < KIND_LAST; ++kind) {
        fprintf(stderr, "fault: %ld %s\n", fault.calls[kind],
                kind_names[kind]);
    }
}

static void forking(void)
{
    ++fault.forks;
}

/* The child that is chosen goes on as a process of which none was; others never
 * become that */
static void forked(void)
{
    kind_t kind;

    fault.child = (fault.child == fault.forks) ? 0 : -1;
    for (kind = 0; kind < KIND_LAST; ++kind) {
        fault.calls[kind] = 0;
    }
}

static void choose_child(void)
{
    const char *value = getenv("FAULT_CHILD");

    if (value != NULL) {
        fault.child = strtol(value, NULL, 10);
        pthread_atfork(forking, NULL, forked);
    }
}

__attribute__((constructor)) static void fault_start(void)
{
    const char *value   = getenv("FAULT");
    const char *library = getenv("FAULT_LIBRARY");
    void *frames[MAX_FRAMES];
    const char *colon;
    char *end;

    backtrace(frames, MAX_FRAMES); /* The first call of it allocates */
    if (library != NULL) {
        fault.library = library;
    }
    choose_child();
    if ((value != NULL) && ((colon = strchr(value, ':')) != NULL)) {
        for (fault.kind = 0; fault.kind < KIND_LAST; ++fault.kind) {
            if (!strncmp(value, kind_names[fault.kind], colon - value)) {
                break;
            }
        }
        fault.number  = strtol(colon + 1, &end, 10);
        fault.further = (*end == '+');
    }
    if (getenv("FAULT_COUNT") != NULL) {
        atexit(print_counts);
    }
    fault.ready = 1;
}

/* The function that the caller overrides. dlsym() does not allocate unless it
 * fails. */
#define NEXT(_name) \
    ({ \
        static __typeof__(&_name) _next; \
        if (_next == NULL) { \
            _next = (__typeof__(&_name))dlsym(RTLD_NEXT, #_name); \
        } \
        _next; \
    })

/* Memory: glibc's own names, since dlsym() may not be called this early */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *address, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

EXPORT void *malloc(size_t size)
{
    if (shall_fail(KIND_MEMORY)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    if (shall_fail(KIND_MEMORY)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_calloc(count, size);
}

EXPORT void *realloc(void *address, size_t size)
{
    if (shall_fail(KIND_MEMORY)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(address, size);
}

EXPORT int posix_memalign(void **address_p, size_t alignment, size_t size)
{
    void *address;

    if (shall_fail(KIND_MEMORY)) {
        return ENOMEM;
    }
    address = __libc_memalign(alignment, size);
    if (address == NULL) {
        return ENOMEM;
    }
    *address_p = address;
    return 0;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (shall_fail(KIND_MEMORY)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_memalign(alignment, size);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*function)(void*), void *arg)
{
    if (shall_fail(KIND_THREAD)) {
        return EAGAIN;
    }
    return NEXT(pthread_create)(thread, attr, function, arg);
}

#define FAIL_SYSTEM(_error, _value) \
    if (shall_fail(KIND_SYSTEM)) { \
        errno = (_error); \
        return _value; \
    }

EXPORT void *mmap(void *address, size_t length, int protection, int flags,
                  int fd, off_t offset)
{
    FAIL_SYSTEM(ENOMEM, MAP_FAILED)
    return NEXT(mmap)(address, length, protection, flags, fd, offset);
}

EXPORT int shm_open(const char *name, int flags, mode_t mode)
{
    FAIL_SYSTEM(EMFILE, -1)
    return NEXT(shm_open)(name, flags, mode);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    FAIL_SYSTEM(EMFILE, -1)
    return NEXT(memfd_create)(name, flags);
}

EXPORT int ftruncate(int fd, off_t length)
{
    FAIL_SYSTEM(ENOSPC, -1)
    return NEXT(ftruncate)(fd, length);
}

EXPORT int socket(int domain, int type, int protocol)
{
    FAIL_SYSTEM(EMFILE, -1)
    return NEXT(socket)(domain, type, protocol);
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    FAIL_SYSTEM(EADDRINUSE, -1)
    return NEXT(bind)(fd, address, length);
}

EXPORT int shmget(key_t key, size_t size, int flags)
{
    FAIL_SYSTEM(ENOSPC, -1)
    return NEXT(shmget)(key, size, flags);
}

EXPORT int eventfd(unsigned count, int flags)
{
    FAIL_SYSTEM(EMFILE, -1)
    return NEXT(eventfd)(count, flags);
}

EXPORT void *shmat(int id, const void *address, int flags)
{
    FAIL_SYSTEM(ENOMEM, (void*)-1)
    return NEXT(shmat)(id, address, flags);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    FAIL_SYSTEM(EMFILE, NULL)
    return NEXT(fopen)(path, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(args, mode_t) : 0;
    va_end(args);
    FAIL_SYSTEM(EMFILE, -1)
    return NEXT(open)(path, flags, mode);
}

EXPORT ssize_t write(int fd, const void *data, size_t length)
{
    FAIL_SYSTEM(ENOSPC, -1)
    return NEXT(write)(fd, data, length);
}
