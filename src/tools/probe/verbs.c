/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "probe.h"

#include <dlfcn.h>
#include <string.h>

/* The functions of the libibverbs that UCX has loaded, as infiniband/verbs.h declares them,
 * which need not be installed. ibv_is_fork_initialized() is there from rdma-core 35 on */
#define FUNCTIONS(_f) \
    _f(void**, ibv_get_device_list, (int *num)) \
    _f(void, ibv_free_device_list, (void **list)) \
    _f(const char*, ibv_get_device_name, (void *device)) \
    _f(void*, ibv_open_device, (void *device)) \
    _f(int, ibv_close_device, (void *context)) \
    _f(int, ibv_query_device, (void *context, attr_t *attr)) \
    _f(int, ibv_is_fork_initialized, (void))

#define FORK_ENABLED 1 /* IBV_FORK_ENABLED */

/* struct ibv_device_attr of infiniband/verbs.h, up to max_mr. libibverbs writes what follows
 * max_mr, too: the room behind is more than any version needs (rdma-core 44: 92 bytes) */
typedef struct {
    char before[136];
    int  max_mr;
    char after[512];
} attr_t;

#define MEMBER(_type, _name, _args) _type (*_name)_args;
#define FIND(_type, _name, _args)   verbs._name = dlsym(library, #_name);
typedef struct {
    FUNCTIONS(MEMBER)
} verbs_t;


static void say_device(const verbs_t *verbs, void *device)
{
    void *context = verbs->ibv_open_device(device);
    attr_t attr;

    if (context != NULL) {
        if (verbs->ibv_query_device(context, &attr) == 0) {
            predreg_say("keys %d", attr.max_mr);
        }
        verbs->ibv_close_device(context);
    }
}

void predreg_probe_verbs(const char *name)
{
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY | RTLD_NOLOAD);
    verbs_t verbs;
    void **list;
    int i, num;

    if (library == NULL) {
        return;
    }

    FUNCTIONS(FIND)
    list = verbs.ibv_get_device_list(&num);
    for (i = 0; (list != NULL) && (i < num); ++i) {
        if (!strcmp(verbs.ibv_get_device_name(list[i]), name)) {
            say_device(&verbs, list[i]);
        }
    }

    if (list != NULL) {
        verbs.ibv_free_device_list(list);
    }
    if (verbs.ibv_is_fork_initialized != NULL) {
        predreg_say("fork %s", (verbs.ibv_is_fork_initialized() == FORK_ENABLED) ?
                               "on" : "off");
    }
    dlclose(library);
}
