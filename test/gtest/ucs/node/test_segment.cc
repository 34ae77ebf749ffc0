/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>
#include <common/log_watch.h>

#include <sys/ipc.h>
#include <sys/shm.h>

#include <atomic>
#include <vector>
#include <unistd.h>


class test_segment : public ::testing::Test {
protected:
    typedef ucs_rcache_pred_segment_header_t header_t;

    /* What follows the header is for tests to write to */
    struct segment_t {
        header_t              header;
        std::atomic<uint64_t> number;
        char                  rest[10000];
    };

    test_segment() : m_id{0x74657374, 1, (uint64_t)getpid()} {}

    ~test_segment()
    {
        /* The kernel may detach a child some time after its end is told */
        for (unsigned i = 0; (i < 1000) && !is_gone(m_id); ++i) {
            usleep(1000);
        }
        EXPECT_TRUE(is_gone(m_id));
    }

    static bool is_gone(const ucs_rcache_pred_segment_id_t &id)
    {
        segment_t *segment = find(id);

        if (segment != NULL) {
            detach(segment);
        }
        return segment == NULL;
    }

    static segment_t *attach(const ucs_rcache_pred_segment_id_t &id)
    {
        header_t *segment;

        if (ucs_rcache_pred_segment_attach(&id, sizeof(segment_t), &segment) !=
            UCS_OK) {
            return NULL;
        }
        return (segment_t*)segment;
    }

    static segment_t *find(const ucs_rcache_pred_segment_id_t &id,
                           size_t size = sizeof(segment_t))
    {
        return (segment_t*)ucs_rcache_pred_segment_find(&id, size);
    }

    static void detach(segment_t *segment)
    {
        ucs_rcache_pred_segment_detach(&segment->header);
    }

    /* A segment on which nobody has agreed yet. Detached, it is gone */
    segment_t *propose(int *shmid_p)
    {
        return (segment_t*)ucs_rcache_pred_segment_propose(&m_id,
                                                           sizeof(segment_t),
                                                           shmid_p);
    }

    /* A segment with the right header that is not quite the right one */
    void expect_ignored(size_t size, int mode, bool marked)
    {
        int shmid         = shmget(IPC_PRIVATE, size, IPC_CREAT | mode);
        header_t *segment = (header_t*)shmat(shmid, NULL, 0);

        segment->id    = m_id;
        segment->state = AGREED;
        if (marked) {
            shmctl(shmid, IPC_RMID, NULL);
        }

        EXPECT_EQ(NULL, find(m_id));
        if (!marked) {
            shmctl(shmid, IPC_RMID, NULL);
        }
        shmdt(segment);
    }

    static constexpr uint64_t AGREED = 1;

    ucs_rcache_pred_segment_id_t m_id;
};

TEST_F(test_segment, second_one_finds_the_first_ones)
{
    segment_t *first = attach(m_id);
    segment_t *second;

    ASSERT_TRUE(first != NULL);
    EXPECT_EQ(0u, first->number);
    first->number = 42;
    second        = attach(m_id);
    ASSERT_TRUE(second != NULL);
    EXPECT_NE(first, second);
    EXPECT_EQ(42u, second->number);

    detach(first);
    EXPECT_EQ(42u, second->number);
    detach(second);
}

TEST_F(test_segment, new_one_starts_from_zeros)
{
    for (unsigned i = 0; i < 3; ++i) {
        segment_t *segment = attach(m_id);

        ASSERT_TRUE(segment != NULL);
        EXPECT_EQ(0u, segment->number++);
        detach(segment);
        EXPECT_EQ(NULL, find(m_id));
    }
}

TEST_F(test_segment, others_do_not_meet)
{
    segment_t *segment = attach(m_id);
    ucs_rcache_pred_segment_id_t key = m_id, version = m_id, magic = m_id;

    ++key.key;
    ++version.version;
    ++magic.magic;
    EXPECT_EQ(NULL, find(key));
    EXPECT_EQ(NULL, find(version));
    EXPECT_EQ(NULL, find(magic));
    EXPECT_EQ(NULL, find(m_id, sizeof(segment_t) + 1));
    EXPECT_EQ(NULL, find(m_id, sizeof(segment_t) - 1));

    segment_t *other = attach(version);
    ASSERT_TRUE(other != NULL);
    segment->number = 1;
    EXPECT_EQ(0u, other->number);
    detach(other);
    detach(segment);
}

TEST_F(test_segment, only_the_right_one_is_taken)
{
    expect_ignored(sizeof(segment_t) + 1, 0600, true);
    expect_ignored(sizeof(segment_t), 0666, true);
    expect_ignored(sizeof(segment_t), 0600, false);

    /* A segment with which nothing is wrong is taken */
    segment_t *segment = attach(m_id);
    detach(find(m_id));
    detach(segment);
}

TEST_F(test_segment, what_a_killed_creator_left_is_removed)
{
    shared<std::atomic<int>> shmid;
    struct shmid_ds ds;

    /* It was killed before it had marked its segment */
    child creator([&shmid] {
        *shmid = shmget(IPC_PRIVATE, sizeof(segment_t), 0600);
        return 0;
    });
    EXPECT_EQ(0, creator.reap());
    ASSERT_EQ(0, shmctl(*shmid, IPC_STAT, &ds));

    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    EXPECT_NE(0, shmctl(*shmid, IPC_STAT, &ds));
    detach(segment);
}

TEST_F(test_segment, what_others_keep_is_left_alone)
{
    struct shmid_ds ds;
    int shmid = shmget(IPC_PRIVATE, sizeof(segment_t), 0600); /* We live */

    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    EXPECT_EQ(0, shmctl(shmid, IPC_STAT, &ds));
    EXPECT_EQ(0, shmctl(shmid, IPC_RMID, NULL));
    detach(segment);
}

TEST_F(test_segment, nobody_finds_what_is_not_agreed_on)
{
    int shmid;
    segment_t *open = propose(&shmid);

    ASSERT_TRUE(open != NULL);
    EXPECT_EQ(NULL, find(m_id));
    detach(open);
}

/* Others have made a segment each, with numbers below and above the one that is
 * made here, and do not go on */
TEST_F(test_segment, who_stops_in_the_middle_does_not_stop_others)
{
    int lower_id, upper_id;
    segment_t *lower = propose(&lower_id), *upper = propose(&upper_id);

    ASSERT_TRUE((lower != NULL) && (upper != NULL));
    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    EXPECT_EQ(AGREED, segment->header.state);
    segment->number = 42;

    /* Nobody agrees on another one any more */
    EXPECT_NE(0u, lower->header.state);
    EXPECT_NE(AGREED, lower->header.state);
    EXPECT_NE(0u, upper->header.state);
    EXPECT_NE(AGREED, upper->header.state);
    detach(lower);
    detach(upper);

    segment_t *second = attach(m_id);
    ASSERT_TRUE(second != NULL);
    EXPECT_EQ(42u, second->number);
    detach(second);
    detach(segment);
}

TEST_F(test_segment, killed_in_the_middle_leaves_nothing)
{
    shared<std::atomic<int>> ready;
    child creator([&] {
        int shmid;

        *ready = (propose(&shmid) != NULL) ? 1 : 2;
        pause();
        return 0;
    });

    ASSERT_TRUE(wait_until([&] { return *ready != 0; }));
    EXPECT_EQ(1, *ready);
    creator.kill_only();
    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    detach(segment);
}

/* Another user has made segments that look like ours */
TEST_F(test_segment, other_users_keep_nobody_out)
{
    constexpr uid_t NOBODY = 65534;

    if (geteuid() != 0) {
        GTEST_SKIP() << "needs to become another user";
    }

    shared<std::atomic<int>> ready;
    child other([&] {
        if (setuid(NOBODY) != 0) {
            return 1;
        }
        for (int mode : {0600, 0666}) {
            int shmid         = shmget(IPC_PRIVATE, sizeof(segment_t),
                                       IPC_CREAT | mode);
            header_t *segment = (header_t*)shmat(shmid, NULL, 0);

            segment->id    = m_id;
            segment->state = AGREED;
            shmctl(shmid, IPC_RMID, NULL);
        }
        *ready = 1;
        pause();
        return 0;
    });

    ASSERT_TRUE(wait_until([&] { return *ready != 0; }));
    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    EXPECT_EQ(0u, segment->number);
    detach(segment);
}

TEST_F(test_segment, processes_that_start_together_get_the_same)
{
    constexpr unsigned NUM = 8;
    shared<std::atomic<unsigned>> ready, attached;
    std::vector<child> children;

    for (unsigned i = 0; i < NUM; ++i) {
        children.emplace_back([&] {
            ++*ready;
            wait_until([&] { return *ready == NUM; });
            segment_t *segment = attach(m_id);
            if (segment == NULL) {
                ++*attached;
                return 1;
            }
            ++segment->number;
            ++*attached;
            wait_until([&] { return *attached == NUM; });
            return (segment->number == NUM) ? 0 : 2;
        });
    }

    for (auto &c : children) {
        EXPECT_EQ(0, c.reap());
    }
}

TEST_F(test_segment, other_users_cannot_attach)
{
    constexpr uid_t NOBODY = 65534;

    if (geteuid() != 0) {
        GTEST_SKIP() << "needs to become another user";
    }

    shared<std::atomic<int>> shmid;
    segment_t *segment = attach(m_id);
    struct shm_info info;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds*)&info);
    struct shmid_ds ds;

    for (int index = 0; index <= last; ++index) {
        int id = shmctl(index, SHM_STAT, &ds);
        if ((id >= 0) && (ds.shm_segsz == sizeof(segment_t)) &&
            (ds.shm_cpid == getpid())) {
            *shmid = id;
        }
    }

    child other([&] {
        if (setuid(NOBODY) != 0) {
            return 1;
        }
        return ((shmat(*shmid, NULL, 0) == (void*)-1) && (errno == EACCES) &&
                (find(m_id) == NULL)) ? 0 : 2;
    });
    EXPECT_EQ(0, other.reap());
    detach(segment);
}
