/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/library.h>

#include <ucs/vfs/base/vfs_obj.h>

#include <cstring>
#include <set>
#include <string>

/*
 * The counters in UCX's virtual file system, read as its FUSE module would.
 */

class test_vfs : public ::testing::Test {
protected:
    test_vfs()
    {
        memset(&s_snapshot, 0, sizeof(s_snapshot));
        memset(&m_vfs, 0, sizeof(m_vfs));
    }

    ~test_vfs() { ucs_rcache_pred_vfs_remove(&m_vfs); }

    void add()
    {
        ucs_rcache_pred_vfs_add(
                &m_vfs,
                [](void *arg, ucs_rcache_pred_snapshot_t *to) {
                    *to = *static_cast<const ucs_rcache_pred_snapshot_t*>(arg);
                },
                &s_snapshot);
    }

    static std::string read(const std::string &name)
    {
        ucs_string_buffer_t strb = UCS_STRING_BUFFER_INITIALIZER;
        std::string path         = "/" UCS_RCACHE_PRED_VFS_DIR "/" + name;
        std::string text         = "missing";

        if (ucs_vfs_path_read_file(path.c_str(), &strb) == UCS_OK) {
            text = ucs_string_buffer_cstr(&strb);
        }
        ucs_string_buffer_cleanup(&strb);
        return text;
    }

    static std::set<std::string> list()
    {
        std::set<std::string> names;

        ucs_vfs_path_list_dir(
                "/" UCS_RCACHE_PRED_VFS_DIR,
                [](const char *name, void *arg) {
                    static_cast<std::set<std::string>*>(arg)->insert(name);
                }, &names);
        return names;
    }

    static ucs_rcache_pred_snapshot_t s_snapshot;
    ucs_rcache_pred_vfs_t             m_vfs;
};

ucs_rcache_pred_snapshot_t test_vfs::s_snapshot;

TEST_F(test_vfs, shows_what_is_when_it_is_read)
{
    s_snapshot.policy = UCS_RCACHE_PRED_POLICY_PREDICT;
    s_snapshot.mode   = UCS_RCACHE_PRED_MODE_PROGRESS;
    add();

    s_snapshot.stats.uses                 = 17;
    s_snapshot.stats.time_critical        = 18;
    s_snapshot.stats.prediction_errors[5] = 19;
    s_snapshot.helper_cpu                 = 20;

    EXPECT_EQ("predict\n", read("policy"));
    EXPECT_EQ("progress\n", read("helper"));
    EXPECT_EQ("17\n", read("uses"));
    EXPECT_EQ("18\n", read("critical_path_ns"));
    EXPECT_EQ("0\n", read("prediction_errors_0"));
    EXPECT_EQ("19\n", read("prediction_errors_5"));
    EXPECT_EQ("20\n", read("helper_cpu_ns"));

    s_snapshot.stats.uses = 21;
    EXPECT_EQ("21\n", read("uses"));
}

/* The folder has the names of the list, and no others */
TEST_F(test_vfs, shows_all_counters)
{
    std::set<std::string> names = {"policy", "helper"};

    add();
    ucs_rcache_pred_counters_for_each(
            &s_snapshot, [](void *arg, const char *name, uint64_t) {
                static_cast<std::set<std::string>*>(arg)->insert(name);
            }, &names);
    EXPECT_EQ(names, list());
}

TEST_F(test_vfs, shows_what_is_known)
{
    s_snapshot.policy = UCS_RCACHE_PRED_POLICY_LEAVE_PINNED;
    add();
    EXPECT_EQ((std::set<std::string>{"policy", "helper", "uses", "pool_bytes",
                                     "pool_rc_receive_bytes", "pool_rc_send_bytes",
                                     "pool_ud_receive_bytes", "pool_ud_send_bytes",
                                     "pool_ucp_bytes", "pool_other_bytes",
                                     "kernel_pinned_bytes", "eager_sends",
                                     "eager_hot", "eager_bytes_saved",
                                     "eager_buffers_hot", "firehose_requests",
                                     "firehose_hits"}), list());
}

TEST_F(test_vfs, is_removed)
{
    add();
    ucs_rcache_pred_vfs_remove(&m_vfs);
    EXPECT_EQ("missing", read("uses"));
    EXPECT_TRUE(list().empty());

    ucs_rcache_pred_vfs_remove(&m_vfs); /* Again */
    add();
    EXPECT_EQ("0\n", read("uses"));
}

/* A child has the folder, leaves it alone when it ends, and may add it anew */
TEST_F(test_vfs, child)
{
    add();
    child stranger([this] {
        ucs_rcache_pred_vfs_remove(&m_vfs);
        return (read("uses") == "0\n") ? 0 : 1;
    });
    EXPECT_EQ(0, stranger.reap());

    child owner([this] {
        s_snapshot.stats.uses = 3;
        add();
        if (read("uses") != "3\n") {
            return 1;
        }
        ucs_rcache_pred_vfs_remove(&m_vfs);
        return list().empty() ? 0 : 2;
    });
    EXPECT_EQ(0, owner.reap());
    EXPECT_EQ("0\n", read("uses"));
}
