/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "bench_peer.h"
#include "bench_util.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PEER_TAG 0x70726564ul

static volatile sig_atomic_t server_may_end;


/* Without it, the client would wait for messages for ever */
static void on_server_ended(int signo)
{
    static const char message[] = "the other process ended early\n";

    if (server_may_end) {
        return;
    }

    if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0) {
        _exit(2);
    }
    _exit(1);
}

void bench_peer_fork(bench_peer_t *self)
{
    int sockets[2];
    pid_t pid;

    BENCH_ASSERT(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0,
                 "cannot create a pair of sockets");
    /* What is in the buffer would be printed by both processes */
    fflush(stdout);
    signal(SIGCHLD, on_server_ended);
    pid = fork();
    BENCH_ASSERT(pid >= 0, "cannot start another process");

    memset(self, 0, sizeof(*self));
    self->is_server = (pid == 0);
    self->socket    = sockets[self->is_server];
    close(sockets[!self->is_server]);
    if (self->is_server) {
        /* The client may end early without telling the server, which has to end
         * then */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
}

static void transfer_all(int socket, void *buffer, size_t length, int do_send)
{
    ssize_t ret;
    size_t done;

    for (done = 0; done < length; done += ret) {
        ret = do_send ? send(socket, (char*)buffer + done, length - done, 0) :
                        recv(socket, (char*)buffer + done, length - done, 0);
        BENCH_ASSERT(ret > 0, "lost the other process");
    }
}

static void create_ep(bench_peer_t *self)
{
    ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    void *remote_address;
    size_t length;

    BENCH_CHECK(ucp_worker_get_address(self->worker, &address, &length));
    transfer_all(self->socket, &length, sizeof(length), 1);
    transfer_all(self->socket, address, length, 1);
    ucp_worker_release_address(self->worker, address);

    transfer_all(self->socket, &length, sizeof(length), 0);
    remote_address = malloc(length);
    BENCH_ASSERT(remote_address != NULL, "out of memory");
    transfer_all(self->socket, remote_address, length, 0);

    params.address = remote_address;
    BENCH_CHECK(ucp_ep_create(self->worker, &params, &self->ep));
    free(remote_address);
}

void bench_peer_connect(bench_peer_t *self)
{
    ucp_params_t params               = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_worker_params_t worker_params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    ucp_config_t *config;

    BENCH_CHECK(ucp_config_read(NULL, NULL, &config));
    BENCH_CHECK(ucp_init(&params, config, &self->context));
    ucp_config_release(config);
    BENCH_CHECK(ucp_worker_create(self->context, &worker_params,
                                  &self->worker));
    create_ep(self);
}

static void wait_request(bench_peer_t *self, ucs_status_ptr_t request)
{
    if (UCS_PTR_IS_PTR(request)) {
        while (ucp_request_check_status(request) == UCS_INPROGRESS) {
            ucp_worker_progress(self->worker);
        }
        BENCH_CHECK(ucp_request_check_status(request));
        ucp_request_free(request);
    } else {
        BENCH_CHECK(UCS_PTR_STATUS(request));
    }
}

void bench_peer_send(bench_peer_t *self, const void *buffer, size_t length)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    wait_request(self, ucp_tag_send_nbx(self->ep, buffer, length, PEER_TAG,
                                        &param));
}

void bench_peer_recv(bench_peer_t *self, void *buffer, size_t length)
{
    ucp_request_param_t param = {.op_attr_mask = 0};

    wait_request(self, ucp_tag_recv_nbx(self->worker, buffer, length, PEER_TAG,
                                        ~0ul, &param));
}

void bench_peer_disconnect(bench_peer_t *self)
{
    ucp_request_param_t param = {.op_attr_mask = 0};
    char byte                 = 0;
    int status;

    server_may_end = 1;
    wait_request(self, ucp_ep_close_nbx(self->ep, &param));

    /* Neither process unmaps its memory while the other one still closes */
    transfer_all(self->socket, &byte, 1, 1);
    transfer_all(self->socket, &byte, 1, 0);
    ucp_worker_destroy(self->worker);
    ucp_cleanup(self->context);
    close(self->socket);

    if (self->is_server) {
        exit(0);
    }

    wait(&status);
    BENCH_ASSERT(WIFEXITED(status) && (WEXITSTATUS(status) == 0),
                 "the other process failed");
}
