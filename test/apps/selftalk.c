/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * A process that talks to itself: over UCP it sends itself a message and puts
 * it into its own memory, over UCT it registers memory with each domain. It is
 * built as a program, and as a plug-in for loadall. Prints nothing if all is
 * well.
 */

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH (1 << 20)

#define CHECK(_cond) \
    do { \
        if (!(_cond)) { \
            fprintf(stderr, "selftalk.c:%d: not so: " #_cond "\n", __LINE__); \
            return 1; \
        } \
    } while (0)

/* Both ends of the communication */
typedef struct self {
    ucp_context_h context;
    ucp_worker_h  worker;
    ucp_ep_h      ep;
    char          *source;
    char          *target;
} self_t;


static int wait_for(self_t *self, ucs_status_ptr_t request)
{
    ucs_status_t status;

    if (!UCS_PTR_IS_PTR(request)) {
        return UCS_PTR_RAW_STATUS(request) == UCS_OK;
    }

    do {
        ucp_worker_progress(self->worker);
        status = ucp_request_check_status(request);
    } while (status == UCS_INPROGRESS);
    ucp_request_free(request);
    return status == UCS_OK;
}

static int send_message(self_t *self)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucs_status_ptr_t recv, send;

    memset(self->source, 'm', LENGTH);
    memset(self->target, 0, LENGTH);
    recv = ucp_tag_recv_nbx(self->worker, self->target, LENGTH, 1, -1, &param);
    send = ucp_tag_send_nbx(self->ep, self->source, LENGTH, 1, &param);
    CHECK(wait_for(self, send));
    CHECK(wait_for(self, recv));
    CHECK(!memcmp(self->source, self->target, LENGTH));
    return 0;
}

static int put(self_t *self)
{
    const ucp_request_param_t param = {.op_attr_mask = 0};
    ucp_mem_map_params_t map = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
                      UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address    = self->target,
        .length     = LENGTH
    };
    ucp_rkey_h rkey;
    ucp_mem_h memh;
    void *packed;
    size_t size;

    CHECK(ucp_mem_map(self->context, &map, &memh) == UCS_OK);
    CHECK(ucp_rkey_pack(self->context, memh, &packed, &size) == UCS_OK);
    CHECK(ucp_ep_rkey_unpack(self->ep, packed, &rkey) == UCS_OK);
    ucp_rkey_buffer_release(packed);
    memset(self->source, 'p', LENGTH);
    CHECK(wait_for(self, ucp_put_nbx(self->ep, self->source, LENGTH,
                                     (uintptr_t)self->target, rkey, &param)));
    CHECK(wait_for(self, ucp_ep_flush_nbx(self->ep, &param)));
    CHECK(!memcmp(self->source, self->target, LENGTH));
    ucp_rkey_destroy(rkey);
    CHECK(ucp_mem_unmap(self->context, memh) == UCS_OK);
    return 0;
}

static int talk(self_t *self)
{
    ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG | UCP_FEATURE_RMA
    };
    ucp_worker_params_t worker_params = {.field_mask = 0};
    ucp_ep_params_t ep_params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
    };
    ucp_config_t *config;
    ucp_address_t *address;
    size_t length;

    CHECK(ucp_config_read(NULL, NULL, &config) == UCS_OK);
    CHECK(ucp_init(&params, config, &self->context) == UCS_OK);
    ucp_config_release(config);
    CHECK(ucp_worker_create(self->context, &worker_params, &self->worker) ==
          UCS_OK);
    CHECK(ucp_worker_get_address(self->worker, &address, &length) == UCS_OK);
    ep_params.address = address;
    CHECK(ucp_ep_create(self->worker, &ep_params, &self->ep) == UCS_OK);
    ucp_worker_release_address(self->worker, address);

    CHECK(send_message(self) == 0);
    CHECK(put(self) == 0);

    CHECK(wait_for(self, ucp_ep_close_nb(self->ep, UCP_EP_CLOSE_MODE_FLUSH)));
    ucp_worker_destroy(self->worker);
    ucp_cleanup(self->context);
    return 0;
}

/* Register a buffer with a domain, if it can */
static int register_with(uct_component_h component, const char *name,
                         void *buffer)
{
    uct_md_config_t *config;
    uct_md_attr_t attr;
    uct_mem_h memh;
    uct_md_h md;

    CHECK(uct_md_config_read(component, NULL, NULL, &config) == UCS_OK);
    CHECK(uct_md_open(component, name, config, &md) == UCS_OK);
    uct_config_release(config);
    CHECK(uct_md_query(md, &attr) == UCS_OK);
    if (attr.cap.flags & UCT_MD_FLAG_REG) {
        CHECK(uct_md_mem_reg(md, buffer, LENGTH, UCT_MD_MEM_ACCESS_ALL,
                             &memh) == UCS_OK);
        CHECK(uct_md_mem_dereg(md, memh) == UCS_OK);
    }
    uct_md_close(md);
    return 0;
}

/* Only domains that every machine has, and that need no rights */
static int is_tried(const char *component)
{
    return !strcmp(component, "self") || !strcmp(component, "tcp");
}

static int register_with_each(void *buffer)
{
    uct_component_h *components;
    uct_md_resource_desc_t resource;
    uct_component_attr_t attr;
    unsigned i, count, num_tried = 0;

    CHECK(uct_query_components(&components, &count) == UCS_OK);
    for (i = 0; i < count; ++i) {
        attr.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME |
                          UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
        CHECK(uct_component_query(components[i], &attr) == UCS_OK);
        if (!is_tried(attr.name) || (attr.md_resource_count != 1)) {
            continue;
        }

        attr.field_mask   = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
        attr.md_resources = &resource;
        CHECK(uct_component_query(components[i], &attr) == UCS_OK);
        CHECK(register_with(components[i], resource.md_name, buffer) == 0);
        ++num_tried;
    }
    uct_release_component_list(components);
    CHECK(num_tried > 0);
    return 0;
}

__attribute__((visibility("default"))) int selftalk(void)
{
    self_t self = {
        .source = malloc(LENGTH),
        .target = malloc(LENGTH)
    };

    CHECK((self.source != NULL) && (self.target != NULL));
    CHECK(talk(&self) == 0);
    CHECK(register_with_each(self.source) == 0);
    free(self.source);
    free(self.target);
    return 0;
}

int main(void)
{
    return selftalk();
}
