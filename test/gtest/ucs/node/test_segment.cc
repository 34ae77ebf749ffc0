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

    ~test_segment() { EXPECT_EQ(NULL, find(m_id)); }

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

    /* Make a segment under the key as a creator leaves it that is killed before
     * it has marked it, or as another program does */
    int make_unmarked(size_t size = sizeof(segment_t), int mode = 0600)
    {
        int shmid = shmget(ucs_rcache_pred_segment_key(&m_id), size,
                           IPC_CREAT | IPC_EXCL | mode);

        EXPECT_GE(shmid, 0) << strerror(errno);
        return shmid;
    }

    /* A segment with the right header that is not quite the right one */
    void expect_ignored(size_t size, int mode, bool marked)
    {
        int shmid         = shmget(IPC_PRIVATE, size, IPC_CREAT | mode);
        header_t *segment = (header_t*)shmat(shmid, NULL, 0);

        segment->id  = m_id;
        segment->uid = geteuid();
        if (marked) {
            shmctl(shmid, IPC_RMID, NULL);
        }

        EXPECT_EQ(NULL, find(m_id));
        if (!marked) {
            shmctl(shmid, IPC_RMID, NULL);
        }
        shmdt(segment);
    }

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

TEST_F(test_segment, what_a_killed_creator_left_is_taken_and_marked)
{
    make_unmarked();
    segment_t *segment = attach(m_id);

    ASSERT_TRUE(segment != NULL);
    EXPECT_EQ(-1, shmget(ucs_rcache_pred_segment_key(&m_id), 0, 0));
    detach(segment);
}

TEST_F(test_segment, segment_of_another_program_is_left_alone)
{
    size_t size    = sizeof(segment_t);
    int shmids[] = {make_unmarked(size - 1), -1, -1};
    char key[32];

    snprintf(key, sizeof(key), "0x%x",
             (unsigned)ucs_rcache_pred_segment_key(&m_id));
    EXPECT_EQ(NULL, attach(m_id)); /* Too small */
    std::string message = log_watch::take();
    EXPECT_NE(std::string::npos, message.find(key)) << message;
    shmctl(shmids[0], IPC_RMID, NULL);

    shmids[1] = make_unmarked(size + 1);
    EXPECT_EQ(NULL, attach(m_id));
    EXPECT_NE(std::string::npos, log_watch::take().find(key));
    shmctl(shmids[1], IPC_RMID, NULL);

    shmids[2]  = make_unmarked();
    void *user = shmat(shmids[2], NULL, 0);
    EXPECT_EQ(NULL, attach(m_id)); /* In use */
    EXPECT_NE(std::string::npos, log_watch::take().find(key));
    EXPECT_EQ(0, shmctl(shmids[2], IPC_RMID, NULL)) << "was taken away";
    shmdt(user);
}

TEST_F(test_segment, gives_up_if_the_lock_stays_held)
{
    int fd = ucs_rcache_pred_segment_lock(&m_id);

    ASSERT_GE(fd, 0);
    EXPECT_EQ(NULL, attach(m_id));
    std::string message = log_watch::take();
    EXPECT_NE(std::string::npos, message.find("ucx-predreg.")) << message;

    close(fd);
    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
    detach(segment);
}

TEST_F(test_segment, lock_of_a_killed_process_is_free)
{
    shared<std::atomic<int>> locked;
    child holder([&] {
        *locked = 1 + ucs_rcache_pred_segment_lock(&m_id);
        pause();
        return 0;
    });

    ASSERT_TRUE(wait_until([&] { return *locked != 0; }));
    holder.kill_only();
    segment_t *segment = attach(m_id);
    ASSERT_TRUE(segment != NULL);
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
