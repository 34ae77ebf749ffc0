/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/timelines.h>

#include <gtest/gtest.h>
#include <tools/replay/gains.h>

/* The policy arena: large mappings come from registered memory. A registration
 * takes 1 us and 100 ns a page, so that a slab of 1 MiB takes 26.6 us */
class test_served : public ::testing::Test {
protected:
    static constexpr uint64_t PAGE = made_program::PAGE;
    static constexpr uint64_t USEC = made_program::USEC;
    static constexpr uint64_t MSEC = made_program::MSEC;
    static constexpr uint64_t SEC  = made_program::SEC;
    static constexpr uint64_t MB   = made_program::MB;

    test_served()
    {
        m_program.reg   = {100, 1000};
        m_program.dereg = {50, 500};
    }

    /* A buffer that is allocated, used and freed, over and over */
    void temporaries(unsigned number, uint64_t length)
    {
        for (unsigned i = 1; i <= number; ++i) {
            uint64_t begin = i * 10 * MSEC;
            m_program.map(begin, made_program::buffer(i), length);
            m_program.use(begin + USEC, begin + MSEC, made_program::buffer(i),
                          length);
            m_program.unmap(begin + 2 * MSEC, made_program::buffer(i), length);
        }
    }

    replayed replay(uint64_t limit = 0,
                    predreg_replay_policy_t policy = PREDREG_REPLAY_ARENA)
    {
        const predreg_timeline_t *timeline = m_program.timeline();
        predreg_replay_params_t params = replay_params(timeline, policy, limit);

        params.arena_slab = MB;
        return replayed(timeline, params);
    }

    made_program m_program;
};

/* The first use registers by itself, and the slab is registered as far as it was needed by
 * then */
TEST_F(test_served, temporaries_need_no_registration)
{
    temporaries(20, 512 * 1024);
    replayed arena = replay(), predict = replay(0, PREDREG_REPLAY_PREDICT);

    EXPECT_EQ(20u, arena->uses);
    EXPECT_EQ(19u, arena->answered);
    EXPECT_LT(0u, arena->waited);
    /* Not all of the slab, and that for a moment besides the use's own */
    EXPECT_EQ(MB, arena->pinned.peak_bytes);
    /* Besides what is registered there is a slab that nobody has used yet */
    EXPECT_LT(MB / 2, arena->bound_bytes);
    EXPECT_GE(2 * MB, arena->bound_bytes);
    /* There each is another buffer */
    EXPECT_EQ(0u, predict->hits);
    EXPECT_EQ(0u, predict->answered);
    EXPECT_LT(arena->waited, predict->waited);

    replayed pinned     = replay(0, PREDREG_REPLAY_LEAVE_PINNED);
    predreg_gain_t gain = {};
    predreg_gain_add(&gain, pinned.operator->(), predict.operator->(), arena.operator->(),
                     0);
    EXPECT_EQ(1u, gain.ranks);
    EXPECT_EQ(19u, gain.answered);
    EXPECT_EQ(int64_t(predict->waited - arena->waited), gain.saved);
    EXPECT_EQ(arena->bound_bytes, gain.size);
    EXPECT_DOUBLE_EQ(pinned->pinned_avg_bytes, gain.pinned_average);
    gain.pinned_average = gain.average;
    EXPECT_EQ(PREDREG_GAIN_YES, predreg_gain_advise(&gain));
}

/* It is played as predict, and said to be of no use */
TEST_F(test_served, without_mappings)
{
    m_program.use(MSEC, 2 * MSEC, made_program::buffer(0), 4 * PAGE);
    m_program.use(3 * MSEC, 4 * MSEC, made_program::buffer(0), 4 * PAGE);
    replayed arena = replay(), predict = replay(0, PREDREG_REPLAY_PREDICT);
    predreg_gain_t gain = {};

    EXPECT_EQ(0u, arena->bound_bytes);
    EXPECT_EQ(predict->pinned.byte_seconds, arena->pinned.byte_seconds);
    EXPECT_EQ(predict->waited, arena->waited);
    predreg_gain_add(&gain, predict.operator->(), predict.operator->(),
                     arena.operator->(), 0);
    EXPECT_EQ(PREDREG_GAIN_NONE, predreg_gain_advise(&gain));
}

TEST_F(test_served, what_is_said)
{
    predreg_replay_result_t pinned = {}, predict = {}, arena = {};
    predreg_gain_t gain            = {};

    arena.bound_bytes = MB;
    arena.uses       = 10;
    predict.duration = SEC;
    pinned.waited    = SEC;
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_UNUSED, predreg_gain_advise(&gain));
    arena.answered = 1;
    predict.waited = MSEC - 1;
    gain           = {};
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_LITTLE, predreg_gain_advise(&gain));
    arena.waited = 2 * MSEC;
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_LOSES, predreg_gain_advise(&gain));
    EXPECT_EQ(2u, gain.ranks);
}

/* An arena has to be better than what users have today, in memory and in time */
TEST_F(test_served, beside_leave_pinned)
{
    predreg_replay_result_t pinned = {}, predict = {}, arena = {};
    predreg_gain_t gain            = {};

    arena.bound_bytes        = MB;
    arena.uses               = arena.answered = 10;
    arena.pinned_avg_bytes   = 4 * MB;
    pinned.pinned_avg_bytes  = 4 * MB;
    predict.pinned_avg_bytes = MB;
    predict.duration         = SEC;
    pinned.waited            = predict.waited = 10 * MSEC;
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_YES, predreg_gain_advise(&gain));

    arena.pinned_avg_bytes = 5 * MB;
    gain                   = {};
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_MEMORY, predreg_gain_advise(&gain));

    arena.waited  = 5 * MSEC;
    pinned.waited = 2 * MSEC;
    gain          = {};
    predreg_gain_add(&gain, &pinned, &predict, &arena, 0);
    EXPECT_EQ(PREDREG_GAIN_LOSES, predreg_gain_advise(&gain));
}

/* What the program would be without the arena is not known */
TEST_F(test_served, recorded_with_an_arena)
{
    predreg_replay_result_t pinned = {}, arena = {};
    ucs_rcache_trace_meta_t meta   = {(char*)"knob.ARENA", (char*)"64M"};
    ucs_rcache_trace_t trace       = {};
    predreg_gain_t gain            = {};

    EXPECT_FALSE(predreg_is_in_arena(&trace));
    trace.meta     = &meta;
    trace.num_meta = 1;
    EXPECT_TRUE(predreg_is_in_arena(&trace));
    meta.value = (char*)"0";
    EXPECT_FALSE(predreg_is_in_arena(&trace));

    arena.bound_bytes = MB;
    arena.uses        = arena.answered = 10;
    pinned.waited     = pinned.duration = SEC;
    predreg_gain_add(&gain, &pinned, &pinned, &arena, 1);
    EXPECT_EQ(PREDREG_GAIN_RECORDED, predreg_gain_advise(&gain));
}

/* What finds no room, and what is not of a mapping as a whole, goes as under
 * predict */
TEST_F(test_served, what_is_not_served)
{
    m_program.map(MSEC, made_program::buffer(0), 768 * 1024);
    m_program.map(MSEC, made_program::buffer(1), 768 * 1024);
    m_program.map(MSEC, made_program::buffer(2), 2 * MB);
    for (unsigned i = 0; i < 3; ++i) {
        m_program.use((2 + i) * MSEC, (2 + i) * MSEC + USEC,
                      made_program::buffer(i), 4 * PAGE);
    }
    m_program.use(6 * MSEC, 7 * MSEC, made_program::buffer(0) + 512 * 1024,
                  512 * 1024);
    m_program.use(8 * MSEC, 9 * MSEC, made_program::buffer(0) - PAGE, 2 * PAGE);
    m_program.use(8 * MSEC, 9 * MSEC, made_program::buffer(0) + PAGE, 2 * PAGE);

    replayed r = replay(MB);
    EXPECT_EQ(6u, r->uses);
    EXPECT_EQ(1u, r->answered);
    EXPECT_EQ(MB, r->bound_bytes);
}

/* A slab is registered in time that the helper takes; who comes before it is
 * done registers for himself */
TEST_F(test_served, slabs_take_time)
{
    m_program.map(0, made_program::buffer(0), MB);
    m_program.use(USEC, 2 * USEC, made_program::buffer(0), PAGE);
    m_program.use(3 * USEC, 4 * USEC, made_program::buffer(0) + 4 * PAGE, PAGE);
    m_program.use(MSEC, MSEC + USEC, made_program::buffer(0) + 8 * PAGE, PAGE);
    m_program.last_until(2 * MSEC);

    replayed r = replay();
    EXPECT_EQ(1u, r->answered);
}

/* Parts of a mapping that are unmapped are free, and the rest stays. A mapping in
 * place of another one is a new one */
TEST_F(test_served, parts)
{
    m_program.map(MSEC, made_program::buffer(0), MB);
    m_program.unmap(2 * MSEC, made_program::buffer(0) + 256 * 1024, 256 * 1024);
    m_program.use(3 * MSEC, 4 * MSEC, made_program::buffer(0), 256 * 1024);
    m_program.use(5 * MSEC, 6 * MSEC, made_program::buffer(0) + 512 * 1024,
                  512 * 1024);
    m_program.use(7 * MSEC, 8 * MSEC, made_program::buffer(0) + 128 * 1024,
                  512 * 1024); /* Is not of the arena any more */
    m_program.map(9 * MSEC, made_program::buffer(1), 256 * 1024);
    m_program.use(10 * MSEC, 11 * MSEC, made_program::buffer(1), 256 * 1024);
    m_program.map(12 * MSEC, made_program::buffer(0), MB);
    m_program.use(13 * MSEC, 14 * MSEC, made_program::buffer(0), MB);

    replayed r = replay(MB);
    EXPECT_EQ(2u, r->answered);
    EXPECT_EQ(5u, r->uses);
}

/* Memory that nobody needs any more is given back */
TEST_F(test_served, idle_slabs_are_given_back)
{
    for (unsigned i = 0; i < 8; ++i) {
        m_program.map((1 + i) * MSEC, made_program::buffer(i), MB);
        m_program.use((1 + i) * MSEC + USEC, (1 + i) * MSEC + 2 * USEC,
                      made_program::buffer(i), MB);
        m_program.unmap(20 * MSEC, made_program::buffer(i), MB);
    }
    m_program.last_until(10 * SEC);

    replayed r = replay();
    EXPECT_EQ(8u, r->uses);
    EXPECT_LE(8 * MB, r->pinned.peak_bytes);
    EXPECT_GT(3. * MB, r->pinned_avg_bytes);
}

TEST_F(test_served, the_same_each_time)
{
    temporaries(50, 300 * 1024);
    EXPECT_EQ(replay(4 * MB).text(), replay(4 * MB).text());
}

TEST_F(test_served, no_memory)
{
    temporaries(3, 512 * 1024);
    expect_ends_without_memory(m_program.timeline(), PREDREG_REPLAY_ARENA,
                               5);
}
