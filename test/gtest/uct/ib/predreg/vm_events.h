/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_VM_EVENTS_H_
#define PREDREG_GTEST_VM_EVENTS_H_

#include <ucs/sys/compiler_def.h>
#include <ucs/type/status.h>

#include <stddef.h>

BEGIN_C_DECLS

/* Memory events as UCM tells them. The real ones are not asked for, since they
 * patch functions of this process, which the thread sanitizer does not
 * survive. */

/* What asking for memory events returns from now on. Nobody has asked yet. */
void test_vm_events_init(ucs_status_t status);

/* How often memory events were asked for */
unsigned test_vm_events_asked(void);

/* With which priority, the last time */
int test_vm_events_priority(void);

/* Tell who asked last that memory is unmapped */
void test_vm_unmapped(void *address, size_t length);

/* Tell who asked last that a call of mmap() or mremap() has returned this */
void test_vm_mapped(void *address, size_t length, int prot, int flags,
                    void *result);
void test_vm_remapped(void *address, size_t old_length, size_t new_length,
                      void *result);

END_C_DECLS

#endif
