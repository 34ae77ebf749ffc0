/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * The probe of `ucx_predreg info`, which starts it twice: it loads the UCX that
 * a program would load, and says what that is (ask), or starts it as a program
 * would, with the library preloaded (rehearse). That may crash or hang, and
 * needs that no other UCX is in the process: so this is a program of its own,
 * which is linked with nothing of UCX.
 *
 * usage: ucx_predreg_probe ask|rehearse DESCRIPTOR COMPONENTS LIBRARY...
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "domains.h"
#include "events.h"
#include "rehearse.h"
#include "say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


int main(int argc, char **argv)
{
    predreg_probe_ucx_t ucx = {0};

    if ((argc < 5) ||
        (strcmp(argv[1], "ask") && strcmp(argv[1], "rehearse"))) {
        fprintf(stderr, "usage: %s ask|rehearse DESCRIPTOR COMPONENTS "
                "LIBRARY...\nIt is a part of 'ucx_predreg info'.\n", argv[0]);
        return 2;
    }

    predreg_say_to(atoi(argv[2]));
    if (predreg_probe_load(argv + 4, &ucx)) {
        if (!strcmp(argv[1], "ask")) {
            predreg_probe_events(&ucx);
            predreg_probe_domains(&ucx, argv[3]);
        } else {
            predreg_probe_rehearse(&ucx);
        }
    }

    predreg_say("stage ending the process");
    predreg_say("end");
    return 0;
}
