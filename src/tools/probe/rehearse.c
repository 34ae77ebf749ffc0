/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "rehearse.h"
#include "say.h"
#include "small.h"

#include <uct/ib/predreg/compat/ucp_setting.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* The library may have changed a configuration when it was read */
static void say_protocols(const predreg_probe_ucx_t *ucx,
                          const ucp_config_t *config)
{
    char value[16];

    if ((ucx->real.ucp_config_print != NULL) &&
        uct_predreg_ucp_setting(&ucx->real, config, ucx->compat->proto.name,
                                value, sizeof(value))) {
        predreg_say("protocols %s", value);
    }
}

void predreg_probe_protocols(const predreg_probe_ucx_t *ucx)
{
    ucp_config_t *config;

    predreg_say("stage reading the configuration of UCP");
    if ((ucx->ucp_config_read == NULL) || (ucx->ucp_config_release == NULL) ||
        (ucx->ucp_config_read(NULL, NULL, &config) != UCS_OK)) {
        return;
    }

    say_protocols(ucx, config);
    ucx->ucp_config_release(config);
}

/* What the kernel counts as pinned by this process, bytes */
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

/* Say which memory domains UCP keeps, and have UCP measured if it is asked for
 * and one of them is managed. UCP has no function that tells them, but prints
 * them: "#   md 0  :  component 1  mlx5_0", the same in 1.13 to 1.23
 * (ucp_context.c) */
static void rehearse_domains(const predreg_probe_ucx_t *ucx,
                             ucp_context_h context, const char *managed)
{
    int is_managed = 0;
    char *text     = NULL;
    size_t size    = 0;
    char *line, *name, *saveptr;
    int begin, end;
    FILE *stream;

    stream = open_memstream(&text, &size);
    if (stream == NULL) {
        return;
    }

    ucx->ucp_context_print_info(context, stream);
    fclose(stream); /* The text is complete only now */
    for (line = (text == NULL) ? NULL : strtok_r(text, "\n", &saveptr);
         line != NULL; line = strtok_r(NULL, "\n", &saveptr)) {
        begin = end = 0;
        sscanf(line, "# md %*u : component %*u %n%*s%n", &begin, &end);
        if (end <= begin) {
            continue;
        }

        line[end] = '\0';
        name      = line + begin;
        predreg_say("used %s", name);
        is_managed |= predreg_probe_is_listed(managed, name);
    }

    free(text);
    if (is_managed) {
        predreg_probe_small_context(ucx, context);
    }
}

/* The pools of UCX, which are pinned, are those of a worker's transports */
static void rehearse_worker(const predreg_probe_ucx_t *ucx,
                            ucp_context_h context)
{
    const ucp_worker_params_t params = {
        .field_mask  = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE
    };
    ucp_worker_h worker;
    ucs_status_t status;

    predreg_say("stage creating a worker of UCP");
    status = ucx->ucp_worker_create(context, &params, &worker);
    if (status != UCS_OK) {
        predreg_say("error UCP cannot create a worker: %s",
                    predreg_probe_text(ucx, status));
        return;
    }

    predreg_say("pinned %lu", pinned());
    predreg_say("stage destroying the worker of UCP");
    ucx->ucp_worker_destroy(worker);
}

void predreg_probe_rehearse(const predreg_probe_ucx_t *ucx,
                            const char *managed)
{
    const ucp_params_t params = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features   = UCP_FEATURE_TAG
    };
    ucp_config_t *config;
    ucp_context_h context;
    ucs_status_t status;

    if ((ucx->ucp_init_version == NULL) || (ucx->ucp_worker_create == NULL)) {
        predreg_say("error UCT without UCP is not rehearsed");
        return;
    }

    predreg_say("stage initialising UCP");
    status = ucx->ucp_config_read(NULL, NULL, &config);
    if (status != UCS_OK) {
        goto err;
    }

    say_protocols(ucx, config);

    /* The version of the interface whose structures are used above, which all
     * versions of UCX accept that are known */
    status = ucx->ucp_init_version(1, 13, &params, config, &context);
    ucx->ucp_config_release(config);
    if (status != UCS_OK) {
        goto err;
    }

    if (ucx->ucp_context_print_info != NULL) {
        rehearse_domains(ucx, context, managed);
    }
    if (managed == NULL) {
        rehearse_worker(ucx, context);
    }
    predreg_say("stage ending UCP");
    ucx->ucp_cleanup(context);
    return;

err:
    predreg_say("error UCP cannot be initialised: %s",
                predreg_probe_text(ucx, status));
}
