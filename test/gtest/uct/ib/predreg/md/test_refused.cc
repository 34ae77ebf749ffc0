/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "md_test.h"

#include <common/library.h>
#include <uct/ib/predreg/md/domain.h>

#include <filesystem>
#include <fstream>
#include <string>

extern "C" {
#include <ucs/host/lack.h>
#include <uct/ib/predreg/core/state.h>
}

/* What was short when a device has refused memory. (What the kernel says of which limit is
 * in test_lack.cc.) */
class test_md_refused : public md_test {
protected:
    static unsigned lack(uct_md_h md)
    {
        return ucs_relaxed_load(&domain(md)->lack);
    }

    /* Let the device refuse the next memory once */
    void refuse(uct_md_h md, int error = ENOMEM)
    {
        m_refuse = 1;
        m_error  = error;
        dereg(md, reg(md, POOL)); /* Is tried twice */
        EXPECT_EQ(0u, m_refuse);
    }

    static bool has(const std::string &text, const std::string &part)
    {
        return text.find(part) != std::string::npos;
    }
};

TEST_F(test_md_refused, keys_are_what_is_left) {
    uct_md_h md = open();

    EXPECT_FALSE(uct_predreg_may_lack_keys(domain(md))) << "nobody has asked";
    refuse(md, EAGAIN);
    EXPECT_TRUE(uct_predreg_may_lack_keys(domain(md)));
    EXPECT_EQ("", log_watch::take());
}

/* No limit of the kernel makes a device refuse memory so */
TEST_F(test_md_refused, memory_that_is_wrong_is_no_shortage) {
    uct_md_h md = open();

    refuse(md, EFAULT);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_UNKNOWN, lack(md));
}

TEST_F(test_md_refused, an_answer_stands_for_a_while) {
    uct_md_h md = open();

    refuse(md);
    ucs_relaxed_store(&domain(md)->lack, UCS_RCACHE_PRED_SHORT_OF_LOCKED);
    refuse(md);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_LOCKED, lack(md));
    ucs_relaxed_store(&domain(md)->ask_time, 0);
    refuse(md);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, lack(md));
}

/* The control group says how many objects there may be: of these, the job keeps to as many
 * keys as others leave, and to one in sixteen less */
TEST_F(test_md_refused, objects_of_the_group_are_a_limit_that_is_known) {
    uct_md_h md                     = open();
    uct_predreg_domain_t *dom       = domain(md);
    const std::string group         = m_folder + "/group";
    ucs_rcache_pred_node_keys_t keys;

    ASSERT_NE(nullptr, dom->node);
    uct_mem_h memh = reg(md, SEND);
    std::filesystem::create_directory(group);
    std::ofstream(group + "/rdma.max") << "mlx1 hca_handle=max hca_object=160\n";
    std::ofstream(group + "/rdma.current") << "mlx1 hca_handle=1 hca_object=160\n";
    free(dom->group);
    dom->group = strdup(group.c_str());
    refuse(md);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_OBJECTS, lack(md));
    ucs_rcache_pred_node_get_keys(dom->node, dom->device, &keys);
    EXPECT_EQ(1u, keys.limit) << "159 are no keys of the job";
    std::string said = log_watch::take();
    EXPECT_TRUE(has(said, "control group " + group + " has 160 objects")) << said;
    EXPECT_TRUE(has(said, "rdma.max")) << said;

    std::ofstream(group + "/rdma.max") << "mlx1 hca_handle=max hca_object=200\n";
    std::ofstream(group + "/rdma.current") << "mlx1 hca_handle=1 hca_object=101\n";
    ucs_relaxed_store(&dom->ask_time, 0);
    refuse(md);
    EXPECT_EQ(UCS_RCACHE_PRED_SHORT_OF_NOTHING, lack(md));
    std::ofstream(group + "/rdma.max") << "mlx1 hca_handle=max hca_object=101\n";
    ucs_relaxed_store(&dom->ask_time, 0);
    refuse(md);
    EXPECT_EQ("", log_watch::take()) << "once";
    dereg(md, memh);
}

/* One that may lock no more than what is refused */
TEST_F(test_md_refused, a_limit_of_the_kernel_is_told_once) {
    run_limited([this] {
        uct_md_h md = open(), other = open(2);
        struct rlimit limit = {LENGTH / 2, LENGTH / 2};

        ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &limit));
        refuse(md);
        EXPECT_FALSE(uct_predreg_may_lack_keys(domain(md)));
        std::string said = log_watch::take();
        EXPECT_TRUE(has(said, "mlx1 refused to register")) << said;
        EXPECT_TRUE(has(said, "may pin 512K")) << said;
        EXPECT_TRUE(has(said, "in 1 processes of the node")) << said;
        EXPECT_TRUE(has(said, "ulimit -l")) << said;
        ucs_relaxed_store(&domain(md)->ask_time, 0);
        refuse(md);
        EXPECT_EQ("", log_watch::take());
        refuse(other);
        EXPECT_TRUE(has(log_watch::take(), "mlx2 refused"));
    });
}
