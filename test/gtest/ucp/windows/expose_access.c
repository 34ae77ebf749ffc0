/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "expose_access.h"

/* They are in UCP, or in libraries that need it */
#define ucp_mem_map             test_mem_map
#define ucp_mem_query           test_mem_query
#define ucp_mem_unmap           test_mem_unmap
#define ucp_rkey_pack           test_rkey_pack
#define ucp_rkey_buffer_release test_rkey_buffer_release
#define ucp_fh_expose_apart     test_expose_apart
#define ucp_fh_unexpose         test_unexpose
#define ucp_fh_unexpose_with    test_unexpose_with
#define ucp_win_start           test_win_start
#define ucp_win_tell_pinned     test_tell_pinned
#define ucp_win_ways_help       test_ways_help
#define ucp_win_ways_flush      test_ways_flush

#include <ucp/windows/expose.c>

#define START  (1ul << 30)
#define LENGTH (2ul << 20)
#define SHIFT  18


static struct {
    ucp_fh_t           fh;
    size_t             part;
    unsigned           num_domains;
    test_win_exposed_t exposed;
} fake;


ucs_status_t ucp_mem_map(ucp_context_h context, const ucp_mem_map_params_t *params,
                         ucp_mem_h *memh_p)
{
    *memh_p = (ucp_mem_h)&fake;
    ++fake.exposed.num_mapped;
    return UCS_OK;
}

static ucs_status_t env_map(ucp_context_h context, const ucp_mem_map_params_t *params,
                            ucp_mem_h *memh_p, unsigned *num_p)
{
    *num_p = 1;
    return ucp_mem_map(context, params, memh_p);
}

ucs_status_t ucp_mem_unmap(ucp_context_h context, ucp_mem_h memh)
{
    --fake.exposed.num_mapped;
    return UCS_OK;
}

ucs_status_t ucp_mem_query(ucp_mem_h memh, ucp_mem_attr_t *attr)
{
    attr->address = (void*)START;
    attr->length  = LENGTH;
    return UCS_OK;
}

/* As UCP: which domains there are, the type of the memory, and a part for each */
ucs_status_t ucp_rkey_pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                           size_t *length_p)
{
    uint64_t domains = UINT64_MAX >> (64 - fake.num_domains);
    uint8_t *to;
    unsigned i;

    *length_p = sizeof(domains) + 1 + (fake.num_domains * (1 + fake.part));
    *packed_p = to = calloc(1, *length_p);
    memcpy(to, &domains, sizeof(domains));
    to += sizeof(domains) + 1;
    for (i = 0; i < fake.num_domains; ++i) {
        *to = fake.part;
        to += 1 + fake.part;
    }
    return UCS_OK;
}

static ucs_status_t env_pack(ucp_context_h context, ucp_mem_h memh, void **packed_p,
                             size_t *length_p, uint64_t *parts_p)
{
    *parts_p = 0;
    return ucp_rkey_pack(context, memh, packed_p, length_p);
}

void ucp_rkey_buffer_release(void *packed)
{
    free(packed);
}

ucs_status_t ucp_fh_expose_apart(ucp_fh_t *fh, void *address, size_t length,
                                 ucp_fh_mem_h *mem_p)
{
    ++fake.exposed.num_exposed;
    return UCS_OK;
}

ucs_status_t ucp_fh_unexpose_with(ucp_fh_mem_h mem, void (*help)(void*), void *arg)
{
    --fake.exposed.num_exposed;
    return UCS_OK;
}

ucs_status_t ucp_fh_unexpose(ucp_fh_mem_h mem)
{
    return ucp_fh_unexpose_with(mem, NULL, NULL);
}

ucp_fh_t *ucp_win_start(ucp_context_h context)
{
    return &fake.fh;
}

void ucp_win_tell_pinned(const char *why)
{
    fake.exposed.why_pinned = why;
}

void ucp_win_ways_help(ucp_context_h context)
{
}

void ucp_win_ways_flush(ucp_context_h context)
{
}

static int is_in_progress(void)
{
    return 0;
}

void test_win_expose_end(void)
{
    atomic_store(&ucp_win.fh, NULL);
    (void)ucs_map_take(&ucp_win.contexts, &fake);
}

void test_win_expose_begin(size_t address, size_t part, unsigned num_domains)
{
    static const predreg_windows_env_t env = {
        .map            = env_map,
        .pack           = env_pack,
        .is_in_progress = is_in_progress
    };
    static char bytes[1 << 12];

    test_win_expose_end();
    memset(&fake, 0, sizeof(fake));
    fake.part              = part;
    fake.num_domains       = num_domains;
    fake.fh.shift          = SHIFT;
    ucp_win.env            = &env;
    ucp_win.address        = bytes;
    ucp_win.address_length = address;
    atomic_store(&ucp_win.fh, &fake.fh);
    (void)ucs_map_put(&ucp_win.contexts, &fake, &fake);
}

int test_win_expose_map(void **memh_p)
{
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .length     = LENGTH
    };
    ucs_status_t status;

    return ucp_win_mem_map((ucp_context_h)&fake, &params, (ucp_mem_h*)memh_p,
                           &status) &&
           (status == UCS_OK);
}

size_t test_win_expose_pack(void *memh)
{
    size_t length = 0;
    ucs_status_t status;
    ucp_win_key_t key;
    void *packed;

    if (!ucp_win_rkey_pack((ucp_context_h)&fake, memh, &packed, &length, &status) ||
        (status != UCS_OK)) {
        return 0;
    }

    length = (ucp_win_key_read(packed, &key) == UCS_OK) ? length : 0;
    (void)ucp_win_packed_release(packed);
    return length;
}

void test_win_expose_unmap(void *memh)
{
    ucp_win_mem_unmapping((ucp_context_h)&fake, memh);
    ucp_mem_unmap((ucp_context_h)&fake, memh);
}

test_win_exposed_t test_win_exposed(void)
{
    return fake.exposed;
}
