/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROBE_SAY_H_
#define PREDREG_PROBE_SAY_H_

#include <ucs/sys/compiler_def.h>

BEGIN_C_DECLS

/** @file say.h
 *
 * What the probe tells the program that has started it: lines of words, through
 * a descriptor. Each is written at once, so that it arrives whatever becomes of
 * the probe afterwards. All of the probe calls this; it has a single thread.
 *
 *   stage TEXT                      what is done next, for the case that it
 *                                   does not end well
 *   library NAME PATH               a library of UCX that was loaded
 *   version MAJOR MINOR RELEASE     what UCP says of itself
 *   known                           the version is one that the library works with
 *   unknown TEXT                    it is none, and why
 *   error TEXT                      why the probe ends here
 *   events TEXT                     "delivered", or what is wrong with them
 *   domain COMPONENT NAME REG MEMH  a memory domain, whether it registers, and
 *                                   whether its transports need handles (0, 1)
 *   unopened COMPONENT NAME TEXT    a domain that could not be opened, and why
 *   cost BYTES REG DEREG COUNT      of the domain before: medians, nanoseconds,
 *                                   of COUNT registrations
 *   nocost TEXT                     of the domain before: what it does not
 *                                   register, and why
 *   protocols VALUE                 what a program that reads UCP's configuration
 *                                   gets for UCX_PROTO_ENABLE
 *   started                         from here on UCX is used as a program does that
 *                                   was started with the library
 *   pinned BYTES                    what the kernel counts as pinned (VmPin)
 *   status                          the library is there, and tells what follows, by
 *                                   the words of status/status.h
 *   end                             that was all
 */

/** Say everything through this descriptor from now on. */
void predreg_say_to(int fd);

/** Say a line; its end is added. */
void predreg_say(const char *format, ...)
        __attribute__((format(printf, 1, 2)));

END_C_DECLS

#endif
