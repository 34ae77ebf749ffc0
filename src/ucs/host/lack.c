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


/* Read how many objects of a device a file of a group says, from a line such as "mlx5_0
 * hca_handle=2 hca_object=2000". @return UINT64_MAX if the file has no number for the
 * device, or "max" in its place */
static uint64_t read_objects(const char *group, const char *name, const char *device)
{
    uint64_t objects = UINT64_MAX;
    char format[128];
    int used;

    /* A name of a device is no longer than 63 characters (Linux, IB_DEVICE_NAME_MAX), and
     * goes into a format */
    used = snprintf(format, sizeof(format), "%s hca_handle=%%*s hca_object=%%" SCNu64,
                    (device == NULL) ? "%*s" : device);
    if ((used < (int)sizeof(format)) && ((device == NULL) || !strchr(device, '%'))) {
        (void)ucs_scan_file(group, name, format, &objects);
    }
    return objects;
}

void ucs_rcache_pred_lack_objects(const char *group, const char *device,
                                  ucs_rcache_pred_lack_t *lack)
{
    uint64_t least = UINT64_MAX;
    char *folder   = strdup(group);
    uint64_t max, used, left;
    size_t length;

    lack->used  = 0;
    lack->max   = UINT64_MAX;
    lack->group = 0;
    for (length = (folder == NULL) ? 0 : strlen(group); length > 0; --length) {
        if ((group[length] != '/') && (group[length] != '\0')) {
            continue;
        }

        folder[length] = '\0';
        max            = read_objects(folder, "/rdma.max", device);
        if (max == UINT64_MAX) {
            continue;
        }

        /* A group that has no object of the device has no line for it either */
        used = read_objects(folder, "/rdma.current", device);
        used = (used == UINT64_MAX) ? 0 : used;
        left = (max > used) ? (max - used) : 0;
        if (left < least) {
            least       = left;
            lack->used  = used;
            lack->max   = max;
            lack->group = length;
        }
    }
    free(folder);
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
    FILE *stream = NULL;
    char *path;
    int c;

    lack->used = 0;
    lack->max  = 0;
    (void)ucs_scan_file(root, "/proc/sys/vm/max_map_count", "%" SCNu64, &lack->max);
    if (asprintf(&path, "%s/proc/self/maps", root) != -1) {
        stream = fopen(path, "re");
        free(path);
    }

    while ((stream != NULL) && ((c = getc(stream)) != EOF)) {
        lack->used += (c == '\n');
    }

    if (stream != NULL) {
        fclose(stream);
    }
}

/* Read how many bytes the process has pinned. The kernel compares them with the limit, and
 * not what the process has locked by mlock() (Linux, ib_umem_get()) */
static uint64_t read_pinned(const char *root)
{
    uint64_t kib = 0;

    (void)ucs_scan_file(root, "/proc/self/status", "VmPin: %" SCNu64 " kB", &kib);
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
