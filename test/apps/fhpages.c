/**
 * Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
 */

#include "fhpages.h"

#include <sys/mman.h>
#include <unistd.h>

#define PATIENCE 20 /* Seconds until what should be unmapped is taken to stay */
#define MAPPING  "fhpages-memory"


uint8_t *fhpages_at(uint64_t base, int page)
{
    return (uint8_t*)base + ((size_t)page * FHJOB_PAGE);
}

uint64_t fhpages_reserve(const fhjob_t *job, size_t length)
{
    size_t all   = length + job->bucket;
    void *memory = mmap(NULL, all, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t start, place;

    if (memory == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }

    start = (uint64_t)memory;
    place = (start + job->bucket - 1) & ~((uint64_t)job->bucket - 1);
    if (place > start) {
        munmap(memory, place - start);
    }
    munmap((void*)(place + length), all - length - (place - start));
    return place;
}

uint64_t fhpages_map(const fhjob_t *job, int num, uint64_t place)
{
    size_t length = (size_t)num * FHJOB_PAGE;
    int fd        = memfd_create(MAPPING, 0);
    void *address = MAP_FAILED;

    if (place == 0) {
        place = fhpages_reserve(job, length);
    }
    if ((fd >= 0) && (ftruncate(fd, length) == 0)) {
        address = mmap((void*)place, length, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_FIXED, fd, 0);
    }
    if (address == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }
    close(fd);
    return place;
}

uint64_t fhpages_map_anonymous(const fhjob_t *job)
{
    size_t length = FHPAGES_NUM * FHJOB_PAGE;
    int is_large  = (job->bucket > FHJOB_PAGE);
    void *place   = is_large ? (void*)fhpages_reserve(job, length) : NULL;
    void *address = mmap(place, length, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS |
                                 (is_large ? MAP_FIXED : 0), -1, 0);

    if (address == MAP_FAILED) {
        app_fatal("%s: mmap: %s", job->name, strerror(errno));
    }
    return (uint64_t)address;
}

void fhpages_unmap(const fhjob_t *job, uint64_t base, int first, int num)
{
    if (munmap(fhpages_at(base, first), (size_t)num * FHJOB_PAGE) != 0) {
        app_fatal("%s: munmap: %s", job->name, strerror(errno));
    }
}

ucp_fh_mem_h fhpages_expose_part(fhjob_t *job, int library, uint64_t base,
                                 int first, int num)
{
    ucp_fh_mem_h mem;

    fhjob_check(job, ucp_fh_expose(job->fhs[library], fhpages_at(base, first),
                                   (size_t)num * FHJOB_PAGE, &mem),
                "ucp_fh_expose");
    return mem;
}

ucp_fh_mem_h fhpages_expose(fhjob_t *job, uint64_t base)
{
    return fhpages_expose_part(job, 0, base, 0, FHPAGES_NUM);
}

void fhpages_unexpose(fhjob_t *job, ucp_fh_mem_h mem)
{
    fhjob_check(job, ucp_fh_unexpose(mem), "ucp_fh_unexpose");
}

int fhpages_is_mapped(uint64_t base, int page)
{
    uint64_t address = (uint64_t)fhpages_at(base, page);
    FILE *maps       = fopen("/proc/self/maps", "r");
    int is_there     = 0;
    unsigned long start, end;
    char line[512];

    while ((maps != NULL) && (fgets(line, sizeof(line), maps) != NULL)) {
        is_there |= (sscanf(line, "%lx-%lx", &start, &end) == 2) &&
                    (start <= address) && (address < end) &&
                    (strstr(line, MAPPING) != NULL);
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_there;
}

void fhpages_await_unmapped(fhjob_t *job, uint64_t base, int first, int num)
{
    double end = app_time() + PATIENCE;
    int page;

    for (page = first; page < first + num; ++page) {
        while (fhpages_is_mapped(base, page) && (app_time() < end)) {
            usleep(100);
        }
        fhjob_errors(job, "pages that stay mapped",
                     fhpages_is_mapped(base, page));
    }
}

/* @return how the operation has ended */
static ucs_status_t
wait_status(fhjob_worker_t *worker, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_STATUS(request);
    }

    while (ucp_fh_request_check_status(request) == UCS_INPROGRESS) {
        ucp_fh_worker_progress(worker->fh_worker);
    }

    status = ucp_fh_request_check_status(request);
    ucp_fh_request_free(request);
    return status;
}

ucs_status_t fhpages_try_put(fhjob_worker_t *worker, uint64_t base, int page,
                             uint64_t op)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    uint64_t address          = (uint64_t)fhpages_at(base, page);
    uint8_t data[FHJOB_PAGE];

    fhjob_fill_page(data);
    fhjob_stamp_page(data, page, op);
    return wait_status(worker,
                       ucp_fh_put_nbx(worker->fh_worker, 0, data, sizeof(data),
                                      address, &param));
}

void fhpages_expect_put(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                        int page, uint64_t op, ucs_status_t expected)
{
    ucs_status_t status = fhpages_try_put(worker, base, page, op);

    if (status != expected) {
        fprintf(stderr, "%s: rank %d: page %d: %s in place of %s\n", job->name,
                job->rank, page, ucs_status_string(status),
                ucs_status_string(expected));
        fhjob_errors(job, "puts", 1);
    }
}

void fhpages_put(fhjob_t *job, fhjob_worker_t *worker, uint64_t base,
                 int first, int num, uint64_t op)
{
    int page;

    for (page = first; page < first + num; ++page) {
        fhpages_expect_put(job, worker, base, page, op, UCS_OK);
    }
    fhjob_flush(job, worker);
}

void fhpages_check(fhjob_t *job, uint64_t base, int first, int num, uint64_t op)
{
    int page;

    for (page = first; page < first + num; ++page) {
        fhjob_errors(job, "pages",
                     !fhjob_check_page(fhpages_at(base, page), page, op));
    }
}

ucp_fh_hold_h fhpages_hold(fhjob_t *job, int library, uint64_t base, int page)
{
    uint64_t address = (uint64_t)fhpages_at(base, page);
    ucp_fh_hold_h hold;

    fhjob_check(job, ucp_fh_pin_remote(job->fhs[library], 0, address,
                                       FHJOB_PAGE, NULL, NULL, &hold),
                "ucp_fh_pin_remote");
    return hold;
}
