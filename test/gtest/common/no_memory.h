/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_NO_MEMORY_H_
#define PREDREG_GTEST_NO_MEMORY_H_

#include "child.h"
#include "trace_test.h"

extern "C" {
#include "c_access.h"
#include <tools/base/memory.h>
}


/* Let each allocation of a function of the tools fail in turn, each time in a
 * process of its own, which has to end with a message. The function is over
 * when no allocation is left to fail.
 * @param [in] body  Returns whether it was right to go on without the memory.
 * @param [in] what  Before the message: the trace that is loaded.
 * @return how many allocations there are. */
template <typename F>
unsigned end_without_memory(F body, const std::string &what = "")
{
    enum { OVER, WENT_ON, WRONG };

    for (unsigned nth = 1; nth < 10000; ++nth) {
        memory_file printed;
        child process([&]() {
            dup2(printed.fd(), STDERR_FILENO);
            test_alloc_fail_nth(nth);
            bool is_right = body();

            return !test_alloc_failed() ? OVER : is_right ? WENT_ON : WRONG;
        });
        int status = process.reap();

        EXPECT_TRUE(WIFEXITED(status)) << "allocation " << nth;
        switch (WEXITSTATUS(status)) {
        case OVER:
            return nth - 1;
        case WENT_ON:
            break;
        default:
            EXPECT_EQ(PREDREG_EXIT_NO_MEMORY, WEXITSTATUS(status))
                    << "allocation " << nth;
            /* The address sanitizer warns before of a stack of our own */
            EXPECT_TRUE(printed.content().ends_with("ucx_predreg: " + what +
                                                    "out of memory\n"))
                    << "allocation " << nth << ": " << printed.content();
        }
    }

    ADD_FAILURE() << "no end";
    return 0;
}

#endif
