/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/library.h>


/* The one rule: how many predictions it takes from one opinion of a holder to another */
class test_trust : public ::testing::Test {
protected:
    void tell(int met, unsigned times = 1)
    {
        for (unsigned i = 0; i < times; ++i) {
            ucs_rcache_pred_trust_tell(&m_trust, m_holder, met);
        }
    }

    bool doubted() { return ucs_rcache_pred_trust_is_doubted(m_trust, m_holder); }
    bool trusted() { return m_trust >= UCS_RCACHE_PRED_TRUST_TRUSTED; }

    /* How many unmet predictions in a row it takes until the holder is doubted */
    unsigned until_doubted()
    {
        unsigned count = 0;

        for (; !doubted() && (count < 1000); ++count) {
            tell(0);
        }
        return count;
    }

    /* How many met ones it takes until the holder is doubted no more */
    unsigned until_believed()
    {
        unsigned count = 0;

        for (; doubted() && (count < 1000); ++count) {
            tell(1);
        }
        return count;
    }

    ucs_rcache_pred_trust_holder_t m_holder = UCS_RCACHE_PRED_TRUST_HISTORY;
    ucs_rcache_pred_trust_t        m_trust  = 0;
};

TEST_F(test_trust, opinions_begin_where_they_say)
{
    EXPECT_FALSE(doubted());
    EXPECT_FALSE(trusted());
    m_trust = ucs_rcache_pred_trust_holders[m_holder].doubted;
    EXPECT_TRUE(doubted());
    ++m_trust;
    EXPECT_FALSE(doubted());
    m_trust = UCS_RCACHE_PRED_TRUST_TRUSTED;
    EXPECT_TRUE(trusted());
    --m_trust;
    EXPECT_FALSE(trusted());
}

TEST_F(test_trust, stays_between_floor_and_cap)
{
    for (auto holder : {UCS_RCACHE_PRED_TRUST_HISTORY,
                        UCS_RCACHE_PRED_TRUST_REGION,
                        UCS_RCACHE_PRED_TRUST_PLACE,
                        UCS_RCACHE_PRED_TRUST_WAY}) {
        m_holder = holder;
        tell(1, 1000);
        EXPECT_EQ(ucs_rcache_pred_trust_holders[holder].cap, m_trust) << holder;
        tell(0, 1000);
        EXPECT_EQ(ucs_rcache_pred_trust_holders[holder].floor, m_trust) << holder;
        EXPECT_LE(until_believed(), 31u) << holder;
    }
}

TEST_F(test_trust, history)
{
    EXPECT_EQ(2u, until_doubted());
    tell(0, 1000);
    EXPECT_EQ(1u, until_believed());
    tell(1, 1000);
    EXPECT_EQ(4u, until_doubted());
}

TEST_F(test_trust, region)
{
    m_holder = UCS_RCACHE_PRED_TRUST_REGION;
    tell(1, 7);
    EXPECT_FALSE(trusted());
    tell(1);
    EXPECT_TRUE(trusted());
    tell(1, 1000);
    tell(0);
    EXPECT_TRUE(trusted()) << "every loop ends at some time";
    tell(0);
    EXPECT_FALSE(trusted());

    m_trust = 0;
    EXPECT_EQ(4u, until_doubted());
    for (unsigned i = 0; i < 100; ++i) {
        tell(i % 2);
    }
    EXPECT_FALSE(doubted()) << "every second is met";
    for (unsigned i = 0; i < 300; ++i) {
        tell(i % 3 == 0);
    }
    EXPECT_TRUE(doubted()) << "each third is";
    EXPECT_LE(until_believed(), 14u);
}

TEST_F(test_trust, place)
{
    m_holder = UCS_RCACHE_PRED_TRUST_PLACE;
    EXPECT_EQ(3u, until_doubted());
    for (unsigned i = 0; i < 100; ++i) {
        tell(1, 2);
        tell(0, 3);
        EXPECT_TRUE(doubted()) << "two fifths change nothing";
    }
    tell(1, 2);
    tell(0, 2);
    EXPECT_FALSE(doubted());
}
