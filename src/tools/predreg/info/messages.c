/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "messages.h"

#include <tools/predreg/common/knob.h>
#include <tools/predreg/common/message.h>
#include <tools/predreg/launch/preload.h>

#include <stdlib.h>
#include <string.h>

/* Further ones repeat what the first say */
#define MAX_OTHERS 5

/* Why the library has stepped aside, by words of its messages */
static const struct {
    const char *words;
    const char *advice;
} reasons[] = {
    {"keeps UCX's own cache on",
     "unset the variable, here and in ucx.conf, or set it to n"},
    {"chooses other than direct registration",
     "unset the variable, here and in ucx.conf, or set it to direct"},
    {"memory events",
     "unset UCX_MEM_EVENTS and UCX_MEM_MMAP_HOOK_MODE, here and in ucx.conf"},
    {"that was complained about above",
     "correct the variable, or unset it"},
    {"belongs to another version",
     "install both libraries again; they belong together"},
    {"cannot load",
     "install both libraries again, into one folder"},
    {"was preloaded before",
     "take the other copy out of LD_PRELOAD"},
    {"does not belong to the UCX of",
     "let the program use one UCX: look for a second libucs.so.0 in "
     "LD_LIBRARY_PATH"},
    {"this process uses UCX",
     "use another UCX, or a later ucx-predreg"},
    {"cannot be set up",
     "see what else it complains about: other processes may have taken all of "
     "a bound of the node"},
    {"fork handlers", "look for what uses up the memory of this machine"}
};


static char *advice_for(const char *reason)
{
    unsigned i;

    for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); ++i) {
        if (strstr(reason, reasons[i].words) != NULL) {
            return predreg_format("%s", reasons[i].advice);
        }
    }

    return predreg_format("report this, with all that is printed here");
}

/* The rest of a line after some words; NULL if they are not in it */
static const char *after(const char *line, const char *words)
{
    const char *found = strstr(line, words);

    return (found == NULL) ? NULL : (found + strlen(words));
}

/* What the dynamic loader says of a file that it cannot preload, ld.so(8) */
static void judge_preload(const char *line, predreg_problems_t *problems)
{
    const char *object = after(line, "ld.so: object ");

    if (object != NULL) {
        predreg_problems_add(problems,
                             strstr(object, PREDREG_LIBRARY) != NULL,
                             predreg_format("the dynamic loader: %s", object),
                             predreg_format("look at the file, and at "
                                            PREDREG_PRELOAD));
    }
}

/* Judge a line. @return whether it was another complaint */
static int judge_line(const char *line, int tell_others,
                      predreg_problems_t *problems)
{
    const char *reason = after(line, "stepping aside"); /* preload.c */
    const char *complaint, *advice;

    judge_preload(line, problems);
    if (reason == NULL) {
        reason = after(line, "steps aside"); /* core/state.c */
    }

    if (reason != NULL) {
        predreg_problems_add(problems, 1,
                             predreg_format("the library steps aside%s",
                                            reason), advice_for(reason));
        return 0;
    }

    /* UCX and the library write warnings and errors to the same log, in lines like this */
    complaint = after(line, "UCX  WARN  ");
    if (complaint == NULL) {
        complaint = after(line, "UCX  ERROR ");
    }

    if ((complaint != NULL) && tell_others) {
        /* UCX never names a knob of the library, so that a line with the name of one was
         * written by the library */
        advice = (strstr(complaint, PREDREG_KNOB_PREFIX) != NULL) ?
                 "change the variable, or unset it" :
                 "see whether that is so without the library as well";
        predreg_problems_add(problems, 0,
                             predreg_format("when started, the log of UCX says: %s",
                                            complaint),
                             predreg_format("%s", advice));
    }
    return complaint != NULL;
}

void predreg_messages_judge(const predreg_facts_t *facts,
                            predreg_problems_t *problems)
{
    unsigned others = 0;
    char *text, *line, *saveptr;

    if (!facts->is_rehearsed || (facts->rehearsal.printed == NULL)) {
        return;
    }

    text = predreg_format("%s", facts->rehearsal.printed);
    for (line = strtok_r(text, "\n", &saveptr); line != NULL;
         line = strtok_r(NULL, "\n", &saveptr)) {
        others += judge_line(line, others < MAX_OTHERS, problems);
    }
    free(text);
}
