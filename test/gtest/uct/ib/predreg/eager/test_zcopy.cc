/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <uct/api/uct.h>

#include <uct/ib/predreg/eager/eager_int.h>

#include <uct/api/tl.h>

#include "../core/core_test.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

/* How many kinds of operations the transports of this test have */
#define KINDS 20

static unsigned called[KINDS];
static ucs_status_t result;

template<int kind>
static ucs_status_t
am_zcopy(uct_ep_h ep, uint8_t id, const void *header, unsigned header_length,
         const uct_iov_t *iov, size_t iovcnt, unsigned flags,
         uct_completion_t *comp)
{
    ++called[kind];
    EXPECT_EQ(5, id);
    EXPECT_EQ(1u, iovcnt);
    return result;
}

template<int... kinds>
static std::vector<uct_ep_am_zcopy_func_t>
operations(std::integer_sequence<int, kinds...>)
{
    return {am_zcopy<kinds>...};
}

/* Sees which sends go out without a copy */
static void replace_each_kind()
{
    auto funcs = operations(std::make_integer_sequence<int, KINDS>());
    std::vector<uct_iface_t> ifaces(KINDS);
    uct_iface_t another, none;
    auto sender           = uct_predreg_sender_take();
    ucs_reuse_slot_t slot = {};
    uct_iov_t iov         = {};
    unsigned known        = 0;
    unsigned seen         = 0; /* How often a transport was seen to send it */
    char byte;

    iov.buffer = &byte;

    /* This thread sends the byte from a hot buffer */
    auto send = [&](uct_iface_t *iface) {
        ucs_status_t status;

        sender->issuing = {&slot, &byte, 0};
        status          = iface->ops.ep_am_zcopy(nullptr, 5, nullptr, 0, &iov, 1,
                                                 0, nullptr);
        seen           += sender->issuing.is_zcopy;
        return status;
    };

    for (unsigned i = 0; i < KINDS; ++i) {
        ifaces[i].ops.ep_am_zcopy = funcs[i];
        uct_predreg_eager_iface_opened(&ifaces[i]);
        seen   = 0;
        result = UCS_INPROGRESS;
        EXPECT_EQ(UCS_INPROGRESS, send(&ifaces[i]));
        EXPECT_EQ(1u, called[i]);
        known += seen;
        EXPECT_EQ(seen > 0, slot.is_proven > 0);
        slot.is_proven = 0;
    }
    /* There is room for a few; the others work as they did */
    EXPECT_GE(known, 8u);
    EXPECT_LT(known, unsigned(KINDS));
    EXPECT_EQ(funcs[KINDS - 1], ifaces[KINDS - 1].ops.ep_am_zcopy);

    /* An interface is watched once, and another one of the kind the same way */
    uct_predreg_eager_iface_opened(&ifaces[0]);
    another.ops.ep_am_zcopy = funcs[0];
    uct_predreg_eager_iface_opened(&another);
    EXPECT_EQ(ifaces[0].ops.ep_am_zcopy, another.ops.ep_am_zcopy);
    called[0] = 0;
    seen      = 0;
    result    = UCS_OK;
    EXPECT_EQ(UCS_OK, send(&ifaces[0]));
    EXPECT_EQ(UCS_OK, send(&another));
    EXPECT_EQ(2u, called[0]);
    EXPECT_EQ(2u, seen);

    /* What the transport has not accepted was not sent */
    result = UCS_ERR_NO_RESOURCE;
    EXPECT_EQ(UCS_ERR_NO_RESOURCE, send(&another));
    EXPECT_EQ(2u, seen);

    /* Nor is what is sent from another buffer */
    iov.buffer = &iov;
    result     = UCS_OK;
    EXPECT_EQ(UCS_OK, send(&another));
    EXPECT_EQ(2u, seen);

    /* There may be no such operation */
    none.ops.ep_am_zcopy = nullptr;
    uct_predreg_eager_iface_opened(&none);
    EXPECT_EQ(nullptr, none.ops.ep_am_zcopy);
}

/* The kinds that it has seen stay, so that it is done in a child */
TEST(test_zcopy, replaces_the_operation_of_each_kind) {
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        replace_each_kind();
        _exit(child_status());
    }
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
}
