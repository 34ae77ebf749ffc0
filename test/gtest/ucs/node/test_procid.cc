/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>

#include <sys/syscall.h>

#include <atomic>
#include <string>
#include <thread>


class test_procid : public ::testing::Test {
protected:
    /* These are the fields 4 to 22, and some more */
    static std::string line(const std::string &name, char state,
                            unsigned threads = 1, uint64_t start = 4711)
    {
        return "17 (" + name + ") " + state + " 1 17 17 -1 -1 4194560 100 0 0 "
               "0 3 2 0 0 20 0 " + std::to_string(threads) + " 0 " +
               std::to_string(start) + " 1000000 200 18446744073709551615\n";
    }

    static bool parse(const std::string &text, ucs_rcache_pred_procstat_t *stat)
    {
        return ucs_rcache_pred_procstat_parse(text.c_str(), stat) == UCS_OK;
    }

    static bool is_dead(char state, unsigned threads, uint64_t start = 1)
    {
        ucs_rcache_pred_procstat_t stat = { state, threads, start };

        return ucs_rcache_pred_procstat_is_dead(&stat, 1);
    }

    static ucs_rcache_pred_procid_t start_time(ucs_rcache_pred_procid_t id)
    {
        return id >> UCS_RCACHE_PRED_PROCID_PID_BITS;
    }
};

TEST_F(test_procid, fields_are_found)
{
    ucs_rcache_pred_procstat_t stat;

    ASSERT_TRUE(parse(line("a.out", 'S', 3, 123456789012), &stat));
    EXPECT_EQ('S', stat.state);
    EXPECT_EQ(3u, stat.num_threads);
    EXPECT_EQ(123456789012u, stat.start_time);
}

TEST_F(test_procid, name_of_the_program_is_not_mistaken_for_fields)
{
    for (auto name : {"a) Z 1 (b", ") X 1 1 1 1", "((", "))", "", " ", "a b c",
                      "1) Z 2 3 4 5 6)"}) {
        ucs_rcache_pred_procstat_t stat;

        ASSERT_TRUE(parse(line(name, 'R', 7), &stat)) << name;
        EXPECT_EQ('R', stat.state) << name;
        EXPECT_EQ(7u, stat.num_threads) << name;
        EXPECT_EQ(4711u, stat.start_time) << name;
    }
}

TEST_F(test_procid, incomplete_lines_are_refused)
{
    std::string whole = line("a.out", 'S');
    ucs_rcache_pred_procstat_t stat;

    for (size_t length = 0; length < whole.find(" 4711"); ++length) {
        ASSERT_FALSE(parse(whole.substr(0, length), &stat)) << length;
    }
}

TEST_F(test_procid, other_text_is_refused)
{
    ucs_rcache_pred_procstat_t stat;

    EXPECT_FALSE(parse("", &stat));
    EXPECT_FALSE(parse("17 a.out S 1 2 3", &stat));
    EXPECT_FALSE(parse("17 (a.out)S 1 2 3", &stat));
    EXPECT_FALSE(parse("17 (a.out) S 1 2 three 4 5 6 7 8 9 10 11 12 13 14 15 16"
                       " 17 18 19 20 21 22 23", &stat));
}

TEST_F(test_procid, dead_are_those_without_memory)
{
    EXPECT_FALSE(is_dead('R', 1));
    EXPECT_FALSE(is_dead('S', 1));
    EXPECT_FALSE(is_dead('D', 1));
    EXPECT_FALSE(is_dead('T', 1));
    EXPECT_TRUE(is_dead('Z', 1));
    EXPECT_TRUE(is_dead('Z', 0));
    EXPECT_FALSE(is_dead('Z', 2)); /* The other threads of the process go on */
    EXPECT_TRUE(is_dead('X', 1));
    EXPECT_TRUE(is_dead('x', 1));
}

TEST_F(test_procid, other_start_time_is_another_process)
{
    EXPECT_TRUE(is_dead('R', 1, 0));
    EXPECT_TRUE(is_dead('R', 1, 2));
}

TEST_F(test_procid, word_holds_the_largest_pid_and_a_late_start)
{
    ucs_rcache_pred_procid_t id = ucs_rcache_pred_procid((1 << 22) - 1,
                                                         (1ull << 42) - 1);

    EXPECT_EQ((1 << 22) - 1, ucs_rcache_pred_procid_pid(id));
    EXPECT_EQ((1ull << 42) - 1, start_time(id));
}

TEST_F(test_procid, own_process_is_alive)
{
    ucs_rcache_pred_procid_t self = ucs_rcache_pred_procid_self();

    EXPECT_EQ(getpid(), ucs_rcache_pred_procid_pid(self));
    EXPECT_NE(0u, start_time(self));
    EXPECT_FALSE(ucs_rcache_pred_procid_is_dead(self));
}

TEST_F(test_procid, recycled_pid_is_not_the_process_that_had_it)
{
    uint64_t start = start_time(ucs_rcache_pred_procid_self());

    EXPECT_TRUE(ucs_rcache_pred_procid_is_dead(
            ucs_rcache_pred_procid(getpid(), start - 1)));
}

TEST_F(test_procid, killed_process_is_dead_as_a_zombie_and_after)
{
    shared<std::atomic<ucs_rcache_pred_procid_t>> id;
    child sleeper([&] {
        *id = ucs_rcache_pred_procid_self();
        pause();
        return 0;
    });

    ASSERT_TRUE(wait_until([&] { return *id != 0; }));
    EXPECT_EQ(sleeper.pid(), ucs_rcache_pred_procid_pid(*id));
    EXPECT_FALSE(ucs_rcache_pred_procid_is_dead(*id));

    sleeper.kill_only();
    errno = 0;
    EXPECT_TRUE(ucs_rcache_pred_procid_is_dead(*id));
    sleeper.reap();
    EXPECT_TRUE(ucs_rcache_pred_procid_is_dead(*id));
    EXPECT_EQ(0, errno);
}

TEST_F(test_procid, process_whose_first_thread_ended_is_alive)
{
    shared<std::atomic<ucs_rcache_pred_procid_t>> id;
    child sleeper([&] {
        pid_t tid = getpid();

        std::thread([&id, tid] {
            ucs_rcache_pred_procstat_t stat = {};
            char text[1024]                 = "";

            while (stat.state != 'Z') {
                FILE *file = fopen(("/proc/" + std::to_string(tid) +
                                    "/stat").c_str(), "r");
                if (fgets(text, sizeof(text), file) != NULL) {
                    ucs_rcache_pred_procstat_parse(text, &stat);
                }
                fclose(file);
                usleep(200);
            }
            *id = ucs_rcache_pred_procid_self();
            pause();
        }).detach();
        return (int)syscall(SYS_exit, 0); /* This thread alone */
    });

    ASSERT_TRUE(wait_until([&] { return *id != 0; }));
    EXPECT_FALSE(ucs_rcache_pred_procid_is_dead(*id));
    sleeper.kill_only();
    EXPECT_TRUE(ucs_rcache_pred_procid_is_dead(*id));
}
