/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * The probe of `ucx_predreg info` and `calibrate`: loads the UCX of another program, says
 * its properties, and starts it as a program would, with the library preloaded, which
 * says its status. UCX may crash or hang, and no other UCX may be in the process: so this
 * is a program of its own, linked with no library of UCX.
 *
 * usage: ucx_predreg_probe DESCRIPTOR look|start|small COMPONENTS LIBRARY...
 *   look        only look at UCX
 *   small       also wait until the library knows the costs of small sends
 *   COMPONENTS  names of components whose memory domains are measured, a comma after each
 */

#include "probe.h"

#include <ucs/base/clock.h>
#include <uct/ib/predreg/status/aside.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Time for the library to measure small sends, ms. The library measures for the first time
 * after 50 ms, and then ever more rarely */
#define SMALL_TIME 300

/* The functions that this file calls as a program would; the library overrides some of
 * them */
#define FUNCTIONS(_f) \
    _f(ucp_cleanup) \
    _f(ucp_config_read) \
    _f(ucp_config_release) \
    _f(ucp_init_version) \
    _f(ucp_worker_create) \
    _f(ucp_worker_destroy) \
    _f(ucp_worker_progress)

typedef struct {
    FUNCTIONS(UCT_PREDREG_REAL_MEMBER)
} program_t;


/* @return memory pinned by this process, as the kernel counts, bytes. */
static unsigned long pinned(void)
{
    FILE *status        = fopen("/proc/self/status", "r");
    unsigned long bytes = 0;
    char line[256];

    while ((status != NULL) && (fgets(line, sizeof(line), status) != NULL)) {
        if (sscanf(line, "VmPin: %lu kB", &bytes) == 1) {
            bytes <<= 10;
            break;
        }
    }

    if (status != NULL) {
        fclose(status);
    }
    return bytes;
}

static void tell(void *arg, const char *what, const char *value)
{
    predreg_say("%s %s", what, value);
}

/* Have the library say its status in this process */
static void say_status(void)
{
    uct_predreg_status_func_t status =
            (uct_predreg_status_func_t)dlsym(RTLD_DEFAULT, UCT_PREDREG_STATUS);

    if (status != NULL) {
        predreg_say("status");
        status(tell, NULL);
    }
}

static long now_ms(void)
{
    return ucs_monotonic_ns() / 1000000;
}

/* Create a worker: the pinned pools of UCX belong to the transports of a worker */
static void start_worker(const predreg_probe_ucx_t *ucx, const program_t *program,
                         ucp_context_h context, int is_small)
{
    const ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    long end                         = now_ms() + (is_small ? SMALL_TIME : 0);
    ucp_worker_h worker;
    ucs_status_t status;

    predreg_say("stage creating a worker of UCP");
    status = program->ucp_worker_create(context, &params, &worker);
    if (status != UCS_OK) {
        predreg_say("error UCP cannot create a worker: %s",
                    predreg_probe_text(ucx, status));
        say_status();
        return;
    }

    predreg_say("pinned %lu", pinned());
    while (is_small && (now_ms() < end)) {
        program->ucp_worker_progress(worker);
    }
    say_status();
    predreg_say("stage destroying the worker of UCP");
    program->ucp_worker_destroy(worker);
}

/* Start UCX as a program that sends messages does */
static void start(const predreg_probe_ucx_t *ucx, int is_small)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    program_t program;
    ucp_config_t *config;
    ucp_context_h context;
    ucs_status_t status;

#define FIND(_name) program._name = dlsym(RTLD_DEFAULT, #_name);
    FUNCTIONS(FIND)
    predreg_say("started");
    if ((program.ucp_init_version == NULL) || (program.ucp_worker_create == NULL)) {
        predreg_say("error UCT without UCP is not started");
        say_status();
        return;
    }

    predreg_say("stage initialising UCP");
    status = program.ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        goto err;
    }

    /* While ucp_config_read() read UCP's file and the environment, the library has
     * changed the configuration: the probe says the values that UCP will use */
    predreg_probe_protocols(ucx, config);

    /* The structures above follow version 1.13 of UCP's interface, which all known
     * versions of UCX accept */
    status = program.ucp_init_version(1, 13, &params, config, &context);
    program.ucp_config_release(config);
    if (status != UCS_OK) {
        goto err;
    }

    start_worker(ucx, &program, context, is_small);
    predreg_say("stage ending UCP");
    program.ucp_cleanup(context);
    return;

err:
    predreg_say("error UCP cannot be initialised: %s",
                predreg_probe_text(ucx, status));
    say_status();
}

static void look(const predreg_probe_ucx_t *ucx, const char *components)
{
    ucp_config_t *config;

    predreg_probe_events(ucx);
    predreg_say("stage reading the configuration of UCP");
    if ((ucx->ucp_config_read != NULL) && (ucx->ucp_config_release != NULL) &&
        (ucx->ucp_config_read(NULL, NULL, &config) == UCS_OK)) {
        predreg_probe_protocols(ucx, config);
        ucx->ucp_config_release(config);
    }
    predreg_probe_domains(ucx, components);
}

int main(int argc, char **argv)
{
    predreg_probe_ucx_t ucx = {};

    if (argc < 5) {
        fprintf(stderr, "usage: %s DESCRIPTOR look|start|small COMPONENTS LIBRARY...\n"
                "It is a part of 'ucx_predreg info' and 'ucx_predreg calibrate'.\n",
                argv[0]);
        return 2;
    }

    predreg_say_to(atoi(argv[1]));
    if (predreg_probe_load(argv + 4, &ucx)) {
        look(&ucx, argv[3]);
        if (strcmp(argv[2], "look")) {
            start(&ucx, !strcmp(argv[2], "small"));
        }
    }

    predreg_say("stage ending the process");
    predreg_say("end");
    return 0;
}
