/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "view.h"

#include <tools/predreg/common/message.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


long predreg_stat_number(const char *text, long max)
{
    char *end;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    return (isdigit((unsigned char)text[0]) && (*end == '\0') && (errno == 0) &&
            (value <= max)) ? value : 0;
}

static void predreg_view_add_proc(predreg_view_t *view,
                                  const predreg_stat_proc_t *proc)
{
    view->procs = predreg_check_memory(
            realloc(view->procs, (view->num_procs + 1) * sizeof(*view->procs)));
    view->procs[view->num_procs++] = *proc;
}

static void predreg_view_add_text(predreg_view_t *view, char *text)
{
    view->texts = predreg_check_memory(
            realloc(view->texts, (view->num_texts + 1) * sizeof(*view->texts)));
    view->texts[view->num_texts++] = text;
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

/* Jobs by their programs, ranks in order */
static int predreg_compare_procs(const void *a, const void *b)
{
    const predreg_stat_proc_t *first  = a;
    const predreg_stat_proc_t *second = b;
    int diff;

    diff = strcmp(first->record.command, second->record.command);
    if (diff == 0) {
        diff = first->record.snapshot.rank - second->record.snapshot.rank;
    }
    return (diff != 0) ? diff : (first->pid - second->pid);
}

/* The processes that were asked for. @return whether all of them are there */
static int predreg_look_at(predreg_view_t *view, const pid_t *pids,
                           unsigned num_pids)
{
    predreg_stat_proc_t proc;
    unsigned i;
    char *why;

    for (i = 0; i < num_pids; ++i) {
        if (predreg_stat_look(pids[i], &proc, &why) == PREDREG_LOOK_OK) {
            predreg_view_add_proc(view, &proc);
        } else {
            predreg_view_add_text(view, why);
        }
    }

    return view->num_texts == 0;
}

/* All processes. What cannot be read is said; that some cannot be looked into
 * only if there is nothing else to show. @return whether there are any */
static int predreg_look_around(predreg_view_t *view)
{
    unsigned denied = 0;
    predreg_stat_proc_t proc;
    struct dirent *entry;
    char *why;
    DIR *dir;
    pid_t pid;

    dir = opendir("/proc");
    if (dir == NULL) {
        predreg_view_add_text(view, predreg_format("/proc cannot be read: %s",
                                                   strerror(errno)));
        return 0;
    }

    while ((entry = readdir(dir)) != NULL) {
        pid = predreg_stat_number(entry->d_name, PREDREG_PID_MAX);
        if (pid == 0) {
            continue;
        }

        switch (predreg_stat_look(pid, &proc, NULL)) {
        case PREDREG_LOOK_OK:
            predreg_view_add_proc(view, &proc);
            break;
        case PREDREG_LOOK_DENIED:
            ++denied;
            break;
        case PREDREG_LOOK_BAD:
            /* Once more for what to say; by now it may be fine */
            if (predreg_stat_look(pid, &proc, &why) == PREDREG_LOOK_OK) {
                predreg_view_add_proc(view, &proc);
            } else {
                predreg_view_add_text(view, why);
            }
            break;
        default:
            break;
        }
    }
    closedir(dir);

    if (view->num_procs > 0) {
        return 1;
    }

    predreg_view_add_text(
            view,
            predreg_format("no process of %s is managed", (geteuid() == 0) ?
                           "this node" : "this user on this node"));
    if (denied > 0) {
        predreg_view_add_text(
                view, predreg_format("processes that cannot be looked into: "
                                     "%u; given by number, each says why",
                                     denied));
    }
    return 0;
}

int predreg_view_take(predreg_view_t *view, const pid_t *pids,
                      unsigned num_pids)
{
    int complete;

    memset(view, 0, sizeof(*view));
    complete = (num_pids > 0) ? predreg_look_at(view, pids, num_pids) :
                                predreg_look_around(view);
    if (view->num_procs > 0) {
        qsort(view->procs, view->num_procs, sizeof(*view->procs),
              predreg_compare_procs);
    }
    return complete;
}
