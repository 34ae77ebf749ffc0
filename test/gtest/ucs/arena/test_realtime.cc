/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "arena_test.h"

#include "common/realtime.h"

/* The program maps something over memory that the helper works at */
class test_arena_realtime : public arena_test, protected realtime_threads {
protected:
    void SetUp() override
    {
        const char *reason = init();

        if (reason != NULL) {
            GTEST_SKIP() << reason;
        }

        make();
        tend();
        allocate(10);
        free_page(2, 4);
        m_now += LAZY;
    }

    void TearDown() override
    {
        join();
    }

    /* Let the helper protect what was freed, and the program spoil it in the
     * midst of that */
    void spoil_while_it_is_protected()
    {
        start_user([this] {
            EXPECT_EQ(UCS_OK, ucs_arena_spoil(m_arena, m_memory.address_of(3), PAGE));
        });
        m_memory.m_during = [this](const char *name) {
            if (std::string(name) == "protect") {
                wake();
            }
        };
        run_helper([this] { ucs_arena_tend(m_arena, m_now); });
        m_memory.m_during = nullptr;
        m_memory.put(m_memory.address_of(3), PAGE);
        EXPECT_LT(m_user_time, PATIENCE);
    }
};

TEST_F(test_arena_realtime, program_sleeps_while_the_helper_works)
{
    spoil_while_it_is_protected();
}

TEST_F(test_arena_realtime, helper_inherits_the_priority)
{
    start_hog();
    spoil_while_it_is_protected();
    EXPECT_FALSE(m_hog_lost) << "the helper did not get the processor";
}
