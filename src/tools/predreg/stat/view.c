/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "stat.h"

#include <tools/predreg/common/command.h>

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/** @file view.c
 *
 * A process that the user names by its pid gets a row or a message. If the user names no
 * process, processes without counters are left out.
 */


static void add_text(predreg_view_t *view, char *text)
{
    *predreg_add(view->texts, view->num_texts) = text;
}

void predreg_view_cleanup(predreg_view_t *view)
{
    unsigned i;

    for (i = 0; i < view->num_texts; ++i) {
        free(view->texts[i]);
    }
    free(view->texts);
    free(view->procs);
}

const predreg_stat_proc_t *
predreg_view_find(const predreg_view_t *view, pid_t pid)
{
    unsigned i;

    for (i = 0; i < view->num_procs; ++i) {
        if (view->procs[i].pid == pid) {
            return &view->procs[i];
        }
    }

    return NULL;
}

int predreg_view_says(const predreg_view_t *view, const char *text)
{
    unsigned i;

    for (i = 0; i < view->num_texts; ++i) {
        if (!strcmp(view->texts[i], text)) {
            return 1;
        }
    }

    return 0;
}

/* Sort processes by the name of their program, then by rank, then by pid */
static int compare_procs(const void *a, const void *b)
{
    const predreg_stat_proc_t *first  = a;
    const predreg_stat_proc_t *second = b;
    int diff;

    diff = strcmp(first->state.command, second->state.command);
    if (diff == 0) {
        diff = first->state.snapshot.rank - second->state.snapshot.rank;
    }
    return (diff != 0) ? diff : (first->pid - second->pid);
}

/* Look at a process, and add its counters to the view, or the reason for showing none */
static void look_or_say(predreg_view_t *view, const predreg_system_t *system,
                        pid_t pid)
{
    predreg_stat_proc_t proc;
    char *why;

    if (predreg_stat_look(system, pid, &proc, &why) == PREDREG_LOOK_OK) {
        *predreg_add(view->procs, view->num_procs) = proc;
    } else {
        add_text(view, why);
    }
}

/* Look at the processes asked for. @return whether all of them show counters. */
static int look_at(predreg_view_t *view, const predreg_system_t *system,
                   const pid_t *pids, unsigned num_pids)
{
    unsigned i;

    for (i = 0; i < num_pids; ++i) {
        look_or_say(view, system, pids[i]);
    }

    return view->num_texts == 0;
}

/* Look at a process that the user has not named, and leave it out if it shows no
 * counters.
 * @return whether the kernel does not let this user look into the process. */
static int look_past(predreg_view_t *view, const predreg_system_t *system,
                     pid_t pid)
{
    predreg_stat_proc_t proc;

    switch (predreg_stat_look(system, pid, &proc, NULL)) {
    case PREDREG_LOOK_OK:
        *predreg_add(view->procs, view->num_procs) = proc;
        return 0;
    case PREDREG_LOOK_BAD:
        /* Look a second time, to get a text for the user. The second look may succeed */
        look_or_say(view, system, pid);
        return 0;
    case PREDREG_LOOK_DENIED:
        return 1;
    default:
        return 0;
    }
}

static void say_none(predreg_view_t *view, const predreg_system_t *system,
                     unsigned denied)
{
    add_text(view, predreg_format("no process of %s is managed",
                                  (system->user() == 0) ?
                                  "this node" : "this user on this node"));
    if (denied > 0) {
        add_text(view, predreg_format("processes that cannot be looked into: "
                                      "%u; given by number, each says why",
                                      denied));
    }
}

/* Look at all processes. If no process shows counters, tell the user how many
 * processes the kernel did not let this user look into. @return whether any process
 * shows counters. */
static int look_around(predreg_view_t *view, const predreg_system_t *system)
{
    unsigned denied = 0;
    struct dirent *entry;
    pid_t pid;
    DIR *dir;

    dir = opendir(system->proc);
    if (dir == NULL) {
        add_text(view, predreg_format("%s cannot be read: %s", system->proc,
                                      strerror(errno)));
        return 0;
    }

    while ((entry = readdir(dir)) != NULL) {
        pid = predreg_number(entry->d_name, PREDREG_PID_MAX);
        if (pid != 0) {
            denied += look_past(view, system, pid);
        }
    }
    closedir(dir);

    if (view->num_procs > 0) {
        return 1;
    }

    say_none(view, system, denied);
    return 0;
}

int predreg_view_take(predreg_view_t *view, const predreg_system_t *system,
                      const pid_t *pids, unsigned num_pids)
{
    int complete;

    memset(view, 0, sizeof(*view));
    complete = (num_pids > 0) ? look_at(view, system, pids, num_pids) :
                                look_around(view, system);
    if (view->num_procs > 0) {
        qsort(view->procs, view->num_procs, sizeof(*view->procs),
              compare_procs);
    }
    return complete;
}
