/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "pressure.h"

#include "cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>


#define NSEC_PER_USEC 1000.


/* Read how long processes have waited, microseconds. @return 0 if that is not
 * known */
static int read_waited(const char *file, uint64_t *waited_p)
{
    FILE *stream;
    int num;

    if (file[0] == '\0') {
        return 0;
    }

    stream = fopen(file, "re");
    if (stream == NULL) {
        return 0;
    }

    num = fscanf(stream, "some avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64,
                 waited_p);
    fclose(stream);
    return num == 1;
}

static void begin(ucs_rcache_pred_pressure_t *pressure, uint64_t now)
{
    memset(pressure->waited, 0, sizeof(pressure->waited));
    pressure->time = now;
    /* What was before does not count */
    (void)ucs_rcache_pred_pressure_look(pressure, now);
}

void ucs_rcache_pred_pressure_init(ucs_rcache_pred_pressure_t *pressure,
                                   uint64_t now)
{
    strcpy(pressure->files[0], "/proc/pressure/memory");
    ucs_rcache_pred_cgroup_find("", "memory.pressure", pressure->files[1]);
    begin(pressure, now);
}

void ucs_rcache_pred_pressure_init_files(ucs_rcache_pred_pressure_t *pressure,
                                         const char *system,
                                         const char *group, uint64_t now)
{
    snprintf(pressure->files[0], PATH_MAX, "%s", (system == NULL) ? "" : system);
    snprintf(pressure->files[1], PATH_MAX, "%s", (group == NULL) ? "" : group);
    begin(pressure, now);
}

int ucs_rcache_pred_pressure_look(ucs_rcache_pred_pressure_t *pressure,
                                  uint64_t now)
{
    double limit = (now - pressure->time) / NSEC_PER_USEC *
                   UCS_RCACHE_PRED_PRESSURE_PART;
    int is_short = 0;
    uint64_t waited;
    unsigned i;

    for (i = 0; i < UCS_RCACHE_PRED_PRESSURE_FILES; ++i) {
        if (read_waited(pressure->files[i], &waited)) {
            is_short           |= (now > pressure->time) &&
                                  (waited - pressure->waited[i] > limit);
            pressure->waited[i] = waited;
        }
    }
    pressure->time = now;
    return is_short;
}
