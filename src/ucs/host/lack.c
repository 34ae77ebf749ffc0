/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "lack.h"

#include <ucs/base/number.h>
#include <ucs/sys/math.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The longest name of a file that is put behind the folder of a control group, or behind
 * root, bytes with its 0 */
#define MAX_NAME 64


/* Read how many objects of a device a file of a group says, from a line such as "mlx5_0
 * hca_handle=2 hca_object=2000". @return UINT64_MAX if the file has no number for the
 * device, or "max" in its place */
static uint64_t read_objects(const char *group, size_t length, const char *name,
                             const char *device)
{
    size_t size      = length + MAX_NAME;
    uint64_t objects = UINT64_MAX;
    char *path       = malloc(size);
    char format[2 * MAX_NAME];
    int used;

    /* A name of a device is no longer than 63 characters (Linux, IB_DEVICE_NAME_MAX), and
     * goes into a format */
    used = snprintf(format, sizeof(format), "%s hca_handle=%%*s hca_object=%%" SCNu64,
                    (device == NULL) ? "%*s" : device);
    if ((path != NULL) && (used < (int)sizeof(format)) &&
        ((device == NULL) || !strchr(device, '%'))) {
        snprintf(path, size, "%.*s/%s", (int)length, group, name);
        (void)ucs_scan_file(path, format, &objects);
    }
    free(path);
    return objects;
}

void ucs_rcache_pred_lack_objects(const char *group, const char *device,
                                  ucs_rcache_pred_lack_t *lack)
{
    uint64_t least = UINT64_MAX;
    uint64_t max, used, left;
    size_t length;

    lack->used  = 0;
    lack->max   = UINT64_MAX;
    lack->group = 0;
    for (length = strlen(group); length > 0; --length) {
        if ((group[length] != '/') && (group[length] != '\0')) {
            continue;
        }

        max = read_objects(group, length, "rdma.max", device);
        if (max == UINT64_MAX) {
            continue;
        }

        /* A group that has no object of the device has no line for it either */
        used = read_objects(group, length, "rdma.current", device);
        used = (used == UINT64_MAX) ? 0 : used;
        left = (max > used) ? (max - used) : 0;
        if (left < least) {
            least       = left;
            lack->used  = used;
            lack->max   = max;
            lack->group = length;
        }
    }
}

/* Try to split a mapping into three, as fork protection does. To count the mappings would
 * take 50 ms where there are many. System calls past the C library call no hooks of
 * UCM. @return whether the kernel refuses */
static int is_split_refused(void)
{
    size_t page = sysconf(_SC_PAGESIZE);
    struct rlimit space;
    long address;
    int refused;

    address = syscall(SYS_mmap, NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
                      -1, 0);
    if (address == -1) {
        /* Such a mapping needs no memory, but part of the address space */
        return (errno == ENOMEM) && (getrlimit(RLIMIT_AS, &space) == 0) &&
               (space.rlim_cur == RLIM_INFINITY);
    }

    refused = (syscall(SYS_mprotect, address + page, page, PROT_READ) != 0) &&
              (errno == ENOMEM);
    syscall(SYS_munmap, address, 3 * page);
    return refused;
}

void ucs_rcache_pred_lack_count_mappings(const char *root,
                                         ucs_rcache_pred_lack_t *lack)
{
    size_t size = strlen(root) + MAX_NAME;
    char *path  = malloc(size);
    FILE *stream;
    int c;

    lack->used = 0;
    lack->max  = 0;
    if (path == NULL) {
        return;
    }

    snprintf(path, size, "%s/proc/sys/vm/max_map_count", root);
    (void)ucs_scan_file(path, "%" SCNu64, &lack->max);
    snprintf(path, size, "%s/proc/self/maps", root);
    stream = fopen(path, "re");
    while ((stream != NULL) && ((c = getc(stream)) != EOF)) {
        lack->used += (c == '\n');
    }

    if (stream != NULL) {
        fclose(stream);
    }
    free(path);
}

/* Read how many bytes the process has pinned. The kernel compares them with the limit, and
 * not what the process has locked by mlock() (Linux, ib_umem_get()) */
static uint64_t read_pinned(const char *root)
{
    size_t size   = strlen(root) + MAX_NAME;
    uint64_t kib  = 0;
    char *path    = malloc(size);

    if (path != NULL) {
        snprintf(path, size, "%s/proc/self/status", root);
        (void)ucs_scan_file(path, "VmPin: %" SCNu64 " kB", &kib);
    }
    free(path);
    return kib * 1024;
}

void ucs_rcache_pred_lack_find(const ucs_rcache_pred_lack_query_t *query,
                               ucs_rcache_pred_lack_t *lack)
{
    if (query->max_locked != UINT64_MAX) {
        lack->used = read_pinned(query->root);
        lack->max  = query->max_locked;
        if (lack->used + query->bytes > lack->max) {
            lack->kind = UCS_RCACHE_PRED_SHORT_OF_LOCKED;
            return;
        }
    }

    ucs_rcache_pred_lack_objects(query->group, query->device, lack);
    if ((lack->max != UINT64_MAX) && (lack->used >= lack->max)) {
        lack->kind = UCS_RCACHE_PRED_SHORT_OF_OBJECTS;
        return;
    }

    lack->kind = is_split_refused() ? UCS_RCACHE_PRED_SHORT_OF_MAPPINGS :
                                          UCS_RCACHE_PRED_SHORT_OF_NOTHING;
}
