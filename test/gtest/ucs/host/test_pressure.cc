/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <ucs/host/cgroup.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

class test_pressure : public ::testing::Test {
protected:
    static constexpr uint64_t SECOND = 1000000000;

    void SetUp() override
    {
        char folder[] = "/tmp/test_pressure.XXXXXX";

        ASSERT_NE(nullptr, mkdtemp(folder));
        m_folder = folder;
        m_system = m_folder + "/system";
        m_group  = m_folder + "/group";
    }

    void TearDown() override
    {
        unlink(m_system.c_str());
        unlink(m_group.c_str());
        rmdir(m_folder.c_str());
    }

    /* Processes have waited so long, microseconds */
    static void waited(const std::string &file, uint64_t time)
    {
        std::ofstream(file) << "some avg10=1.50 avg60=0.00 avg300=0.00 total="
                            << time << "\nfull avg10=0.00 avg60=0.00 "
                               "avg300=0.00 total=7\n";
    }

    void init(uint64_t now)
    {
        ucs_rcache_pred_pressure_init_files(&m_pressure, m_system.c_str(),
                                            m_group.c_str(), now);
    }

    int look(uint64_t now)
    {
        return ucs_rcache_pred_pressure_look(&m_pressure, now);
    }

    std::string m_folder, m_system, m_group;
    ucs_rcache_pred_pressure_t m_pressure;
};

TEST_F(test_pressure, waiting_counts_since_the_last_look) {
    waited(m_system, 123456789);
    init(SECOND);
    EXPECT_FALSE(look(2 * SECOND));
    waited(m_system, 123456789 + 100000);
    EXPECT_FALSE(look(3 * SECOND)); /* A tenth of the time, not more */
    waited(m_system, 123456789 + 200001);
    EXPECT_TRUE(look(4 * SECOND));
    EXPECT_FALSE(look(5 * SECOND));
}

TEST_F(test_pressure, either_file_counts) {
    waited(m_group, 5);
    init(SECOND);
    waited(m_group, 900000);
    EXPECT_TRUE(look(2 * SECOND));
    waited(m_system, 10);
    EXPECT_FALSE(look(3 * SECOND));
}

TEST_F(test_pressure, a_system_that_does_not_tell) {
    init(SECOND);
    EXPECT_FALSE(look(2 * SECOND));
    std::ofstream(m_system) << "nothing of the kind\n";
    EXPECT_FALSE(look(3 * SECOND));
    ucs_rcache_pred_pressure_init_files(&m_pressure, nullptr, nullptr, 0);
    EXPECT_FALSE(look(SECOND));
}

TEST_F(test_pressure, this_system) {
    ucs_rcache_pred_pressure_init(&m_pressure, SECOND);
    EXPECT_STREQ("/proc/pressure/memory", m_pressure.files[0]);
    EXPECT_FALSE(look(SECOND)); /* No time has passed */
}
