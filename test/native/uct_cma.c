/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "../bench/uring_reg.h"

#include <uct/api/uct.h>
#include <uct/ib/predreg/compat/uct_v2.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A stand-in for UCT that makes UCX register the memory of every rendezvous
 * without a network adapter. It has the name of UCT's library, and is linked
 * with UCT itself under another name, so that it answers UCP first.
 *
 * UCX's transport between processes of a node, cma, needs no registration. Here
 * its domain says that it is of the component "ib" and needs it. UCP then
 * registers both sides of a rendezvous, and this library pins the memory
 * through io_uring, so that the kernel counts it in VmPin, user memory alone.
 * The transport still moves the data, and ignores the handles.
 *
 * Variables:
 *   NATIVE_FAIL_REG=N     the registration number N, from 1, fails
 *   NATIVE_FAIL_DEREG=N   likewise the deregistration; the memory stays pinned
 *   NATIVE_COUNT          print at exit how many of both there were
 */

#define EXPORT          __attribute__((visibility("default")))
#define REAL_LIBRARY    "libuct-real.so.0"
#define MANAGED_NAME    "cma"
#define ADAPTER_NAME    "ib"
#define MAX_DOMAINS     64

/* Calls the function of UCT that the caller has the name of */
#define REAL(_name) ((__typeof__(&_name))real_function(#_name))


static struct {
    pthread_once_t        once;
    _Atomic(uct_md_h)     domains[MAX_DOMAINS]; /* Of cma, NULL if free. Any
                                                   thread may open one: each
                                                   place is written by its
                                                   owner only */
    atomic_ulong          regs;   /* How many were asked for so far */
    atomic_ulong          deregs; /* Likewise */
} native = {
    .once = PTHREAD_ONCE_INIT
};


static void *real_function(const char *name)
{
    static void *_Atomic handle;
    void *address;

    if (handle == NULL) {
        handle = dlopen(REAL_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
    }

    address = dlsym(handle, name);
    if (address == NULL) {
        fprintf(stderr, "native rig: no %s in " REAL_LIBRARY "\n", name);
        abort();
    }

    return address;
}

static void print_counts(void)
{
    fprintf(stderr, "native rig: %lu registrations, %lu deregistrations\n",
            native.regs, native.deregs);
}

static void start(void)
{
    if (uring_reg_init(URING_REG_MAX_SLOTS) != UCS_OK) {
        _exit(77);
    }

    if (getenv("NATIVE_COUNT") != NULL) {
        atexit(print_counts);
    }
}

/* Whether this is a domain of cma */
static int is_managed(uct_md_h md)
{
    unsigned i;

    for (i = 0; i < MAX_DOMAINS; ++i) {
        if (native.domains[i] == md) {
            return 1;
        }
    }

    return 0;
}

/* Whether this call is the one that shall fail */
static int is_chosen(atomic_ulong *calls, const char *variable)
{
    const char *value = getenv(variable);
    unsigned long call;

    call = atomic_fetch_add(calls, 1) + 1;
    return (value != NULL) && (call == strtoul(value, NULL, 0));
}

EXPORT ucs_status_t uct_md_open(uct_component_h component, const char *md_name,
                                const uct_md_config_t *config, uct_md_h *md_p)
{
    uct_component_attr_t attr = {.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME};
    uct_md_h free_place;
    ucs_status_t status;
    unsigned i;

    status = REAL(uct_md_open)(component, md_name, config, md_p);
    if ((status != UCS_OK) ||
        (REAL(uct_component_query)(component, &attr) != UCS_OK) ||
        strcmp(attr.name, MANAGED_NAME)) {
        return status;
    }

    pthread_once(&native.once, start);
    for (i = 0; i < MAX_DOMAINS; ++i) {
        free_place = NULL;
        if (atomic_compare_exchange_strong(&native.domains[i], &free_place,
                                           *md_p)) {
            return UCS_OK;
        }
    }

    fprintf(stderr, "native rig: more than %d domains\n", MAX_DOMAINS);
    abort();
}

EXPORT void uct_md_close(uct_md_h md)
{
    unsigned i;

    for (i = 0; i < MAX_DOMAINS; ++i) {
        if (native.domains[i] == md) {
            native.domains[i] = NULL;
        }
    }

    REAL(uct_md_close)(md);
}

EXPORT ucs_status_t uct_md_query(uct_md_h md, uct_md_attr_t *attr)
{
    ucs_status_t status;

    status = REAL(uct_md_query)(md, attr);
    if ((status == UCS_OK) && is_managed(md)) {
        attr->cap.flags |= UCT_MD_FLAG_REG | UCT_MD_FLAG_NEED_MEMH |
                           UCT_MD_FLAG_NEED_RKEY;
        snprintf(attr->component_name, sizeof(attr->component_name), "%s",
                 ADAPTER_NAME);
    }

    return status;
}

EXPORT ucs_status_t uct_md_mem_reg(uct_md_h md, void *address, size_t length,
                                   unsigned flags, uct_mem_h *memh_p)
{
    if (!is_managed(md)) {
        return REAL(uct_md_mem_reg)(md, address, length, flags, memh_p);
    }

    return is_chosen(&native.regs, "NATIVE_FAIL_REG") ?
           UCS_ERR_NO_MEMORY : uring_reg(address, length, memh_p);
}

static ucs_status_t dereg(uct_mem_h memh)
{
    return is_chosen(&native.deregs, "NATIVE_FAIL_DEREG") ?
           UCS_ERR_IO_ERROR : uring_dereg(memh);
}

EXPORT ucs_status_t uct_md_mem_dereg(uct_md_h md, uct_mem_h memh)
{
    return is_managed(md) ? dereg(memh) : REAL(uct_md_mem_dereg)(md, memh);
}

EXPORT ucs_status_t
uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t *params)
{
    ucs_status_t status;

    if (!is_managed(md)) {
        return REAL(uct_md_mem_dereg_v2)(md, params);
    }

    status = dereg(params->memh);
    if ((params->field_mask & UCT_MD_MEM_DEREG_FIELD_FLAGS) &&
        (params->flags & UCT_MD_MEM_DEREG_FLAG_INVALIDATE)) {
        params->comp->count--;
        if (params->comp->count == 0) {
            params->comp->func(params->comp);
        }
    }

    return status;
}

EXPORT ucs_status_t uct_md_mkey_pack(uct_md_h md, uct_mem_h memh, void *buffer)
{
    return is_managed(md) ? UCS_OK :
           REAL(uct_md_mkey_pack)(md, memh, buffer);
}
