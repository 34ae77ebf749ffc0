/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_PROFILE_H_
#define PREDREG_PROFILE_H_

/** @file profile.h
 *
 * The sub-command that makes a profile for the next run of a program, of the traces of
 * one.
 */

/** The sub-command profile. @return the exit status. */
int predreg_profile(int argc, char **argv);

#endif
