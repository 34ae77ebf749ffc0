/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "find.h"
#include "info.h"
#include "judge.h"
#include "json.h"
#include "options.h"
#include "text.h"

#include <tools/predreg/run/find_library.h>

#include <stdlib.h>

#define EXIT_NOTHING 1


int predreg_info_from(const char *folder, int argc, char **argv)
{
    predreg_facts_t facts       = {0};
    predreg_problems_t problems = {0};
    predreg_info_opts_t opts;
    int status;

    status = predreg_info_parse(argc, argv, &opts);
    if (status != 0) {
        return status;
    }

    status = predreg_facts_find(folder, opts.library, 0, opts.command, &facts);
    if (status != 0) {
        return status;
    }

    facts.processes   = predreg_info_processes(opts.command);
    facts.chooses_pml = predreg_info_chooses_pml(opts.command);
    predreg_host_find((facts.target.kind == PREDREG_TARGET_LAUNCHER) ?
                      facts.command : NULL, &facts.host);
    predreg_judge(&facts, &problems);
    if (opts.json) {
        predreg_info_print_json(&facts, &problems);
    } else {
        predreg_info_print_text(&facts, &problems);
    }

    status = predreg_problems_works(&problems) ? EXIT_SUCCESS : EXIT_NOTHING;
    predreg_problems_cleanup(&problems);
    predreg_facts_cleanup(&facts);
    return status;
}

int predreg_info(int argc, char **argv)
{
    char *folder = predreg_executable_folder();
    int status;

    status = predreg_info_from((folder == NULL) ? PREDREG_BINDIR : folder, argc,
                               argv);
    free(folder);
    return status;
}
