/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>

#include <set>
#include <vector>


class test_context : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_context_t context_t;

    test_context() : m_window{} {}

    context_t record(uintptr_t address, unsigned length,
                     ucs_rcache_pred_comm_t comm = UCS_RCACHE_PRED_COMM_SEND)
    {
        context_t context;

        ucs_rcache_pred_context_add(&m_window, length, comm, (void*)address,
                                    (void*)0x400100, 0x7ffe0000ul,
                                    &context);
        return context;
    }

    /* What the context of a communication says of the window, if it comes after
     * these */
    uint64_t after(const std::vector<uintptr_t> &addresses, unsigned length)
    {
        m_window = {};
        for (uintptr_t address : addresses) {
            record(address, length);
        }
        return record(0x1000, length).window;
    }

    ucs_rcache_pred_window_t m_window;
};

TEST_F(test_context, window_order_matters)
{
    EXPECT_NE(after({0xa000, 0xb000}, 2), after({0xb000, 0xa000}, 2));
    EXPECT_EQ(after({0xa000, 0xb000}, 2), after({0xa000, 0xb000}, 2));
}

TEST_F(test_context, window_sees_so_many_before_and_no_more)
{
    const std::vector<uintptr_t> base = {0xa000, 0xb000, 0xc000, 0xd000,
                                         0xe000};

    for (unsigned length = 0; length <= UCS_RCACHE_PRED_MAX_WINDOW; ++length) {
        for (unsigned back = 1; back <= base.size(); ++back) {
            std::vector<uintptr_t> changed = base;

            changed[changed.size() - back] = 0xf000;
            if (back <= length) {
                EXPECT_NE(after(base, length), after(changed, length))
                        << "length " << length << ", " << back << " before";
            } else {
                EXPECT_EQ(after(base, length), after(changed, length))
                        << "length " << length << ", " << back << " before";
            }
        }
    }
}

TEST_F(test_context, window_tells_kinds_apart)
{
    record(0xa000, 2, UCS_RCACHE_PRED_COMM_SEND);
    uint64_t after_send = record(0x1000, 1).window;

    record(0xa000, 2, UCS_RCACHE_PRED_COMM_RECV);
    EXPECT_NE(after_send, record(0x1000, 1).window);
}

TEST_F(test_context, window_does_not_see_the_present)
{
    uint64_t window = record(0xa000, 2).window;

    m_window = {};
    EXPECT_EQ(window, record(0xb000, 2).window);
}

TEST_F(test_context, caller_tells_kinds_apart)
{
    EXPECT_NE(record(0xa000, 0, UCS_RCACHE_PRED_COMM_PUT).caller,
              record(0xa000, 0, UCS_RCACHE_PRED_COMM_GET).caller);
}

TEST_F(test_context, signature_differs_by_each_field)
{
    const context_t base = {0x400100, 0x7ffe0000, 0x1234};
    std::set<uint64_t> signatures;
    context_t context;

    signatures.insert(ucs_rcache_pred_signature(&base, 1, 0x1000, 8192));

    context        = base;
    context.caller += 1;
    signatures.insert(ucs_rcache_pred_signature(&context, 1, 0x1000, 8192));

    context       = base;
    context.stack -= 16;
    signatures.insert(ucs_rcache_pred_signature(&context, 1, 0x1000, 8192));

    context        = base;
    context.window ^= 1;
    signatures.insert(ucs_rcache_pred_signature(&context, 1, 0x1000, 8192));

    signatures.insert(ucs_rcache_pred_signature(&base, 2, 0x1000, 8192));
    signatures.insert(ucs_rcache_pred_signature(&base, 1, 0x2000, 8192));
    signatures.insert(ucs_rcache_pred_signature(&base, 1, 0x1000, 8193));

    EXPECT_EQ(7u, signatures.size());
    EXPECT_EQ(0u, signatures.count(0));
}

TEST_F(test_context, signature_does_not_confuse_fields)
{
    /* The same numbers in other places make another signature */
    const context_t a = {1, 2, 3}, b = {3, 2, 1}, c = {2, 1, 3};
    std::set<uint64_t> signatures;

    for (const context_t *context : {&a, &b, &c}) {
        signatures.insert(ucs_rcache_pred_signature(context, 0, 4, 5));
        signatures.insert(ucs_rcache_pred_signature(context, 0, 5, 4));
    }

    EXPECT_EQ(6u, signatures.size());
}

TEST_F(test_context, signature_of_nothing_is_not_zero)
{
    /* 0 marks a free call site */
    const context_t zero = {};

    EXPECT_NE(0u, ucs_rcache_pred_signature(&zero, 0, 0, 0));
}
