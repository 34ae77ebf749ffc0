/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/timelines.h>

#include <gtest/gtest.h>


/* No policy has fewer byte-seconds than clairvoyant on any program, whether it
 * lets uses wait or not (docs/clairvoyant.md). The exceptions are uses in
 * pieces, and uses that are refused. */
class test_replay_bounds : public ::testing::Test {
protected:
    static void check(made_program &program, const std::string &name)
    {
        auto policy = PREDREG_REPLAY_CLAIRVOYANT;
        replayed bound(program.timeline(),
                       replay_params(program.timeline(), policy));

        EXPECT_EQ(bound->uses, bound->hits);
        EXPECT_EQ(0u, bound->waited);
        for (int i = 0; i < PREDREG_REPLAY_LAST; ++i) {
            policy      = predreg_replay_policy_t(i);
            auto params = replay_params(program.timeline(), policy);

            params.cache.pieces = 0;
            replayed result(program.timeline(), params);
            ASSERT_EQ(bound->uses, result->uses);
            ASSERT_GE(result.byte_ns(), bound.byte_ns())
                    << predreg_policies[i].name << ", " << name;
        }
    }
};

TEST_F(test_replay_bounds, random)
{
    for (unsigned seed = 0; seed < 100; ++seed) {
        made_program program = made_program::random(seed, 60);
        check(program, "seed " + std::to_string(seed));
    }
}

TEST_F(test_replay_bounds, regular)
{
    constexpr uint64_t MSEC = made_program::MSEC, MB = made_program::MB;
    constexpr uint64_t USEC = made_program::USEC;
    made_program programs[] = {
        made_program::periodic(50, 10 * MSEC, 1 * MSEC, 4 * MB),
        made_program::periodic(50, 300 * USEC, 100 * USEC, 4 * MB),
        made_program::two_buffers(50, 20 * MSEC, 4 * MB),
        made_program::nested(10, 10, 1 * MSEC, 30 * MSEC, 1 * MB),
        made_program::drift(50, 10 * MSEC, 5, 4 * MB)
    };

    for (auto &program : programs) {
        for (double cost : {0.0, 1.0, 300.0}) {
            program.reg   = {cost, 10 * cost};
            program.dereg = {cost / 4, 5 * cost};
            check(program, "cost " + std::to_string(cost));
        }
    }
}
