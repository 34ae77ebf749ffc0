/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

/*
 * The probe of `ucx_predreg info` and `calibrate`, which start it twice: it loads
 * the UCX that a program would load, and says what that is (ask), or starts it as
 * a program would, with the library preloaded (rehearse); or it measures what
 * small sends cost with its memory domains (ask-small), and with the library
 * preloaded (rehearse-small). That may crash or hang, and needs that no other UCX
 * is in the process: so this is a program of its own, which is linked with nothing
 * of UCX.
 *
 * usage: ucx_predreg_probe ask|rehearse|ask-small|rehearse-small DESCRIPTOR NAMES
 *        LIBRARY...
 *   NAMES  with a comma after each: of components whose domains are measured, or
 *          of the domains that are managed (rehearse-small)
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "cost.h"
#include "domains.h"
#include "events.h"
#include "rehearse.h"
#include "say.h"
#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static void ask(const predreg_probe_ucx_t *ucx, const char *components)
{
    predreg_probe_events(ucx);
    predreg_probe_protocols(ucx);
    predreg_probe_domains(ucx, components, predreg_probe_cost);
}

static void rehearse(const predreg_probe_ucx_t *ucx, const char *names)
{
    predreg_probe_rehearse(ucx, NULL);
}

static void ask_small(const predreg_probe_ucx_t *ucx, const char *components)
{
    predreg_probe_domains(ucx, components, predreg_probe_small_domain);
}

static void rehearse_small(const predreg_probe_ucx_t *ucx, const char *managed)
{
    predreg_probe_rehearse(ucx, managed);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void       (*func)(const predreg_probe_ucx_t *ucx, const char *names);
    } modes[] = {
        {"ask", ask},
        {"rehearse", rehearse},
        {"ask-small", ask_small},
        {"rehearse-small", rehearse_small},
    };
    const unsigned num_modes = sizeof(modes) / sizeof(modes[0]);
    predreg_probe_ucx_t ucx  = {0};
    unsigned i;

    for (i = 0; (argc >= 5) && (i < num_modes); ++i) {
        if (!strcmp(argv[1], modes[i].name)) {
            break;
        }
    }

    if ((argc < 5) || (i == num_modes)) {
        fprintf(stderr, "usage: %s ask|rehearse|ask-small|rehearse-small "
                "DESCRIPTOR NAMES LIBRARY...\nIt is a part of 'ucx_predreg "
                "info' and 'ucx_predreg calibrate'.\n", argv[0]);
        return 2;
    }

    predreg_say_to(atoi(argv[2]));
    if (predreg_probe_load(argv + 4, &ucx)) {
        modes[i].func(&ucx, argv[3]);
    }

    predreg_say("stage ending the process");
    predreg_say("end");
    return 0;
}
