/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_H_
#define PREDREG_PROBE_H_

#include <uct/ib/predreg/compat/compat.h>

#include <ucm/api/ucm.h>

BEGIN_C_DECLS

/** @file probe.h
 *
 * The parts of the probe: the UCX to be looked at (ucx.c), and its memory domains
 * (domains.c). The probe has a single thread.
 *
 * The probe tells its parent its findings in lines of words, through a descriptor. Each
 * line is written at once, so that it arrives even if the probe crashes later.
 *
 *   stage TEXT                      the next action, in case it does not end well
 *   library NAME PATH               a loaded library of UCX
 *   version MAJOR MINOR RELEASE     the version, by UCP
 *   known                           the library works with this version
 *   unknown TEXT                    it does not, and why
 *   error TEXT                      why the probe ends here
 *   events TEXT                     "delivered", or an error of memory events
 *   domain COMPONENT NAME REG MEMH  a memory domain, whether it registers, and
 *                                   whether its transports need handles (0, 1)
 *   unopened COMPONENT NAME TEXT    a domain that could not be opened, and why
 *   cost BYTES REG DEREG COUNT      of the domain before: medians, nanoseconds,
 *                                   of COUNT registrations
 *   nocost TEXT                     of the domain before: a failed registration, and
 *                                   why
 *   protocols VALUE                 UCX_PROTO_ENABLE for a program that reads UCP's
 *                                   configuration
 *   started                         from here on UCX is used as by a program
 *                                   started with the library
 *   pinned BYTES                    pinned memory as the kernel counts (VmPin)
 *   status                          the library is there, and its status follows, in
 *                                   the words of status/aside.h
 *   end                             there is no more
 */

/** Say everything through this descriptor from now on. */
void predreg_say_to(int fd);

/** Say a line, to which an end is added. */
void predreg_say(const char *format, ...)
        __attribute__((format(printf, 1, 2)));


/** Expands _f for each function of UCX that only the probe calls. compat/ucx_api.h lists
 *  the functions by which the library tells versions of UCX apart. */
#define PREDREG_PROBE_FUNCTIONS(_f) \
    _f(ucm_set_event_handler) \
    _f(ucs_status_string) \
    _f(uct_config_release) \
    _f(uct_md_close) \
    _f(uct_md_config_read) \
    _f(uct_md_open) \
    _f(ucp_config_read) \
    _f(ucp_config_release)

typedef struct {
    uct_predreg_real_t         real;    /**< A function that UCX lacks is NULL */
    PREDREG_PROBE_FUNCTIONS(UCT_PREDREG_REAL_MEMBER)
    const uct_predreg_compat_t *compat; /**< NULL: this version is not known */
} predreg_probe_ucx_t;


/**
 * Load libraries and say which UCX there is then.
 *
 * @param [in] libraries  To be loaded, in this order: names, which are looked
 *                        for, or paths; up to a NULL.
 * @param [out] ucx       UCX's own functions, even where the library overrides them.
 * @return whether its version is known. If not, the reason has been said.
 */
int predreg_probe_load(char *const *libraries, predreg_probe_ucx_t *ucx);

/** @return the text of a status, or its number if UCX has no text. */
const char *predreg_probe_text(const predreg_probe_ucx_t *ucx,
                               ucs_status_t status);

/** Say how UCP chooses its protocols by a configuration. */
void predreg_probe_protocols(const predreg_probe_ucx_t *ucx,
                             const ucp_config_t *config);

/** Ask UCM for events of unmapped memory as the library does, unmap memory, and say the
 *  result: without events a registration cache would keep unmapped buffers. */
void predreg_probe_events(const predreg_probe_ucx_t *ucx);

/** Open each memory domain and say its properties; and the costs of registrations, if it
 *  registers, its transports need the handles, and its component is in the list, which
 *  has a comma after each. */
void predreg_probe_domains(const predreg_probe_ucx_t *ucx, const char *components);

END_C_DECLS

#endif
