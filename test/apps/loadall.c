/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * Loads plug-ins, such as selftalk.so, as programs with plug-ins do, and calls
 * the function of each twice, in turns.
 *
 * usage: loadall [-a LIBRARY] [-b] [-c] [-d FOLDER] [-g] [-n] PLUGIN...
 *   -a  once the first plug-in is open, before it is called, this library is
 *       loaded, and what it defines, all may use (RTLD_GLOBAL)
 *   -b  a plug-in prefers its own dependencies (RTLD_DEEPBIND)
 *   -c  before the second turn each plug-in is closed, and loaded again
 *   -d  changes to this folder first
 *   -g  what a plug-in defines, all may use (RTLD_GLOBAL)
 *   -n  all its functions are resolved as it is loaded (RTLD_NOW)
 *
 * Prints how many cores of the preloaded library were loaded.
 */

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_PLUGINS 16

typedef struct options {
    const char *for_all; /* NULL: no library is loaded for all to use */
    int        flags;
    int        close;
} options_t;

typedef struct plugin {
    const char *path;
    void       *handle;
} plugin_t;


static int plugin_open(plugin_t *plugin, const options_t *options)
{
    plugin->handle = dlopen(plugin->path, options->flags);
    if (plugin->handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    return 1;
}

static int load_for_all(options_t *options)
{
    const char *library = options->for_all;

    options->for_all = NULL;
    if ((library != NULL) &&
        (dlopen(library, RTLD_NOW | RTLD_GLOBAL) == NULL)) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    return 1;
}

static int plugin_call(plugin_t *plugin)
{
    int (*function)(void) = (int (*)(void))dlsym(plugin->handle, "selftalk");

    if (function == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }

    if (function() != 0) {
        fprintf(stderr, "%s failed\n", plugin->path);
        return 0;
    }
    return 1;
}

static int count_core(struct dl_phdr_info *info, size_t size, void *arg)
{
    int *count = arg;

    *count += (strstr(info->dlpi_name, "libuct_predreg_core.so") != NULL);
    return 0;
}

static int options_parse(int argc, char **argv, options_t *options)
{
    int c;

    options->for_all = NULL;
    options->flags   = 0;
    options->close   = 0;
    while ((c = getopt(argc, argv, "a:bcd:gn")) != -1) {
        switch (c) {
        case 'a':
            options->for_all = optarg;
            break;
        case 'b':
            options->flags |= RTLD_DEEPBIND;
            break;
        case 'c':
            options->close = 1;
            break;
        case 'd':
            if (chdir(optarg) != 0) {
                perror(optarg);
                return 0;
            }
            break;
        case 'g':
            options->flags |= RTLD_GLOBAL;
            break;
        case 'n':
            options->flags |= RTLD_NOW;
            break;
        default:
            return 0;
        }
    }
    options->flags |= (options->flags & RTLD_NOW) ? 0 : RTLD_LAZY;
    return (optind < argc) && (argc - optind <= MAX_PLUGINS);
}

int main(int argc, char **argv)
{
    plugin_t plugins[MAX_PLUGINS];
    options_t options;
    int i, count, num_cores = 0;

    if (!options_parse(argc, argv, &options)) {
        fprintf(stderr, "usage: loadall [-a LIBRARY] [-b] [-c] [-d FOLDER] "
                "[-g] [-n] PLUGIN...\n");
        return 2;
    }

    count = argc - optind;
    for (i = 0; i < 2 * count; ++i) {
        plugin_t *plugin = &plugins[i % count];

        plugin->path = argv[optind + (i % count)];
        if (((i < count) || options.close) && !plugin_open(plugin, &options)) {
            return 1;
        }

        if (!load_for_all(&options) || !plugin_call(plugin)) {
            return 1;
        }

        if (options.close) {
            dlclose(plugin->handle);
        }
    }

    dl_iterate_phdr(count_core, &num_cores);
    printf("cores: %d\n", num_cores);
    return 0;
}
