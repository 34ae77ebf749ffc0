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
 * The parts of the probe: the UCX to be looked at (ucx.c), its memory domains
 * (domains.c), and the libibverbs that it uses (verbs.c). The probe has a single thread.
 *
 * The probe tells its parent its findings in lines of words, through a descriptor. Each
 * line is written at once, so that it arrives even if the probe crashes later.
 *
 *   stage TEXT                      the next action: if UCX crashes or hangs, then in
 *                                   the stage said last
 *   library NAME PATH               a loaded library of UCX
 *   version MAJOR MINOR RELEASE     the version, by UCP
 *   known                           the library works with this version
 *   unknown TEXT                    why the library does not work with this version
 *   error TEXT                      why the probe ends here
 *   events TEXT                     "delivered", or an error of memory events
 *   domain COMPONENT NAME REG MEMH  a memory domain, whether it registers, and
 *                                   whether its transports need handles (0, 1)
 *   unopened COMPONENT NAME TEXT    a domain that could not be opened, and why
 *   cost BYTES REG DEREG COUNT      of the domain said last: medians, nanoseconds,
 *                                   of COUNT registrations and deregistrations of
 *                                   BYTES
 *   nocost TEXT                     of the domain said last: a failed registration,
 *                                   and why
 *   keys NUMBER                     of the domain said last: the registrations that its
 *                                   device says it can have (max_mr)
 *   fork TEXT                       whether libibverbs protects memory at forks: on, off
 *   protocols VALUE                 UCX_PROTO_ENABLE for a program that reads UCP's
 *                                   configuration
 *   started                         from here on UCX is used as by a program
 *                                   started with the library
 *   pinned BYTES                    pinned memory as the kernel counts (VmPin)
 *   status                          the library is there, and its status follows, in
 *                                   the words of status/aside.h
 *   end                             the probe has said everything
 */

/** Say everything through this descriptor from now on. */
void predreg_say_to(int fd);

/** Say a line to the parent. The function adds the newline. */
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
    uct_predreg_real_t         real;    /**< NULL: UCX lacks this function */
    PREDREG_PROBE_FUNCTIONS(UCT_PREDREG_REAL_MEMBER)
    const uct_predreg_compat_t *compat; /**< NULL: this version is not known */
} predreg_probe_ucx_t;


/**
 * Load libraries, and say which UCX the process has then.
 *
 * @param [in] libraries  Names, which are looked for, or paths of the libraries, in the
 *                        order of loading; a NULL ends the list.
 * @param [out] ucx       UCX's own functions, even where the library overrides them.
 * @return whether the preloaded library works with this version of UCX. If not, the
 *         function has said the reason.
 */
int predreg_probe_load(char *const *libraries, predreg_probe_ucx_t *ucx);

/** @return the text of a status, or its number if UCX has no text. */
const char *predreg_probe_text(const predreg_probe_ucx_t *ucx,
                               ucs_status_t status);

/** Say which protocols UCP chooses by a configuration: the value of UCX_PROTO_ENABLE. */
void predreg_probe_protocols(const predreg_probe_ucx_t *ucx,
                             const ucp_config_t *config);

/** Ask UCM for events of unmapped memory as the library does, unmap memory, and say the
 *  result: without events a registration cache would keep unmapped buffers. */
void predreg_probe_events(const predreg_probe_ucx_t *ucx);

/** Open each memory domain, and say its properties. Also say the costs of registrations
 *  if the domain registers, its transports need the handles, and @a components has the
 *  name of its component, with a comma after each name. */
void predreg_probe_domains(const predreg_probe_ucx_t *ucx, const char *components);

/** Say how many registrations the RDMA device of this name can have, if there is one, and
 *  whether libibverbs protects memory at forks, if UCX has loaded it. */
void predreg_probe_verbs(const char *name);

END_C_DECLS

#endif
