/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "predreg.h"
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREDREG_RECORD_FOLDER "predreg.traces"
#define PREDREG_RECORD_FILES  "*.trace"


static struct {
    const char *folder;
    int        force;
} predreg_record_opts = {
    .folder = PREDREG_RECORD_FOLDER
};


static void predreg_record_usage(void)
{
    printf("usage: ucx_predreg record [OPTIONS] [--] COMMAND [ARGS...]\n"
           "\n"
           "Run COMMAND as ucx_predreg run does, and write a trace of each rank\n"
           "to a folder: what it communicated from which buffers, and what was\n"
           "registered for it.\n"
           "\n"
           "  -o DIR              the folder (" PREDREG_RECORD_FOLDER "); it is "
           "made if need be,\n"
           "                      and must not have traces in it\n"
           "  --force             remove the traces that are in it\n"
           PREDREG_RUN_HELP);
}

static void predreg_record_option(int option, const char *value)
{
    if (option == 'o') {
        predreg_record_opts.folder = value;
    } else {
        predreg_record_opts.force = 1;
    }
}

static int predreg_record_remove(DIR *dir, const char *folder, const char *name)
{
    if (unlinkat(dirfd(dir), name, 0) == 0) {
        return 0;
    }

    predreg_error("--force: cannot remove '%s' from '%s': %s", name, folder,
                  strerror(errno));
    return -1;
}

/* Ranks of an earlier job would be taken for some of this one */
static int predreg_record_clear(DIR *dir, const char *folder)
{
    struct dirent *entry;

    while ((entry = readdir(dir)) != NULL) {
        if (fnmatch(PREDREG_RECORD_FILES, entry->d_name, 0) != 0) {
            continue;
        }

        if (!predreg_record_opts.force) {
            predreg_error("-o: '%s' has traces in it, as %s; accepted: another "
                          "folder, or --force to remove them", folder,
                          entry->d_name);
            return -1;
        }

        if (predreg_record_remove(dir, folder, entry->d_name) != 0) {
            return -1;
        }
    }

    return 0;
}

static int predreg_record_prepare(void)
{
    const char *folder = predreg_record_opts.folder;
    char *absolute;
    int ret;
    DIR *dir;

    if ((mkdir(folder, 0777) != 0) && (errno != EEXIST)) {
        predreg_error("-o: cannot make '%s': %s; accepted: a folder in one that "
                      "can be written to", folder, strerror(errno));
        return PREDREG_EXIT_USAGE;
    }

    dir = opendir(folder);
    if ((dir == NULL) || (access(folder, W_OK | X_OK) != 0)) {
        predreg_error("-o: '%s': %s; accepted: a folder that can be written to",
                      folder, strerror(errno));
        if (dir != NULL) {
            closedir(dir);
        }
        return PREDREG_EXIT_USAGE;
    }

    ret = predreg_record_clear(dir, folder);
    closedir(dir);
    if (ret != 0) {
        return PREDREG_EXIT_USAGE;
    }

    absolute = predreg_absolute_path("-o", folder);
    if (absolute == NULL) {
        return PREDREG_EXIT_USAGE;
    }

    predreg_set(PREDREG_KNOB_TRACE, absolute);
    free(absolute);
    return 0;
}

int predreg_record(int argc, char **argv)
{
    static const struct option options[] = {
        PREDREG_RUN_LONG_OPTIONS,
        {"force", no_argument, NULL, 'f'},
        {NULL, 0, NULL, 0}
    };
    static const predreg_runner_t runner = {
        .name          = "record",
        .short_options = PREDREG_RUN_SHORT_OPTIONS "o:",
        .long_options  = options,
        .usage         = predreg_record_usage,
        .option        = predreg_record_option,
        .prepare       = predreg_record_prepare
    };

    return predreg_run_command(argc, argv, &runner);
}
