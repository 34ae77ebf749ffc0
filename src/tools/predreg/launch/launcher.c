/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "launcher.h"
#include "args.h"
#include "hydra.h"
#include "openmpi.h"
#include "slurm.h"

#include <stdlib.h>
#include <string.h>


predreg_launcher_t predreg_launcher_by_name(const char *command)
{
    /* Debian and others append to the names: mpirun.openmpi, mpiexec.hydra */
    static const char *const several[] = {"mpirun",  "mpiexec", "orterun",
                                          "prterun", "oshrun",  "shmemrun"};
    const char *slash                  = strrchr(command, '/');
    const char *name                   = (slash == NULL) ? command : slash + 1;
    size_t length                      = strcspn(name, ".-_");
    size_t i;

    if (strcmp(name, "srun") == 0) {
        return PREDREG_LAUNCHER_SRUN;
    }

    for (i = 0; i < sizeof(several) / sizeof(several[0]); ++i) {
        if ((length == strlen(several[i])) &&
            !strncmp(name, several[i], length)) {
            return PREDREG_LAUNCHER_ASK;
        }
    }

    return PREDREG_LAUNCHER_NONE;
}

predreg_launcher_t predreg_launcher_by_version(const char *text)
{
    static const struct {
        const char         *text;
        predreg_launcher_t kind;
    } known[] = {
        {"Open MPI", PREDREG_LAUNCHER_OPENMPI},
        {"Open RTE", PREDREG_LAUNCHER_OPENMPI},
        {"OpenRTE", PREDREG_LAUNCHER_OPENMPI},
        {"PRTE", PREDREG_LAUNCHER_OPENMPI},
        {"PMIx Reference RTE", PREDREG_LAUNCHER_OPENMPI},
        {"HYDRA", PREDREG_LAUNCHER_HYDRA}
    };
    size_t i;

    for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
        if (strstr(text, known[i].text) != NULL) {
            return known[i].kind;
        }
    }

    return PREDREG_LAUNCHER_NONE;
}

int predreg_launcher_preloads(predreg_launcher_t kind, char *const *argv)
{
    switch (kind) {
    case PREDREG_LAUNCHER_NONE:
    case PREDREG_LAUNCHER_SRUN:
        return 1;
    case PREDREG_LAUNCHER_OPENMPI:
        return predreg_openmpi_ignores_vars(argv);
    default:
        return 0;
    }
}

static int copy_args(predreg_args_t *args, char *const *argv)
{
    for (; *argv != NULL; ++argv) {
        predreg_args_add(args, *argv);
    }

    return 0;
}

char **predreg_launcher_args(predreg_launcher_t kind, char *const *argv,
                             char *const *vars)
{
    predreg_args_t args;
    int ret;

    if (predreg_args_init(&args, argv, vars) != 0) {
        return NULL;
    }

    if ((kind == PREDREG_LAUNCHER_OPENMPI) && (args.preload != NULL)) {
        ret = predreg_openmpi_args(&args, argv);
    } else if ((kind == PREDREG_LAUNCHER_HYDRA) && (args.preload != NULL)) {
        ret = predreg_hydra_args(&args, argv);
    } else if (kind == PREDREG_LAUNCHER_SRUN) {
        ret = predreg_slurm_args(&args, argv);
    } else {
        ret = copy_args(&args, argv);
    }

    if (ret != 0) {
        free(args.out);
        return NULL;
    }

    return args.out;
}
