/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "state.h"


__thread __attribute__((tls_model("initial-exec"))) predreg_thread_t predreg_thread;

_Atomic(unsigned) predreg_num_ucx;
_Atomic(const uct_predreg_hooks_t*) predreg_hooks_of[PREDREG_MAX_UCX];
_Atomic(const predreg_windows_t*) predreg_windows_table;

_Atomic(int) predreg_one_sided;
_Atomic(int) predreg_bypassed;

_Atomic(predreg_alter_t) predreg_alter;
_Atomic(const void*) predreg_core;

_Atomic(const char*) predreg_ucp_start;
_Atomic(const char*) predreg_ucp_end;
