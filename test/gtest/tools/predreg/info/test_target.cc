/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/info/info.h>
}

#include <fstream>
#include <sys/stat.h>

class test_info_target : public command_test {
protected:
    ~test_info_target() { predreg_target_cleanup(&m_target); }

    void read_list(const std::string &list)
    {
        std::string copy = list;

        predreg_target_cleanup(&m_target);
        m_target = {};
        predreg_target_read_list(&copy[0], &m_target);
    }

    int find(const char *name)
    {
        predreg_target_cleanup(&m_target);
        return predreg_target_find(name, &m_target);
    }

    std::vector<std::string> libraries()
    {
        return strings_of(m_target.libraries);
    }

    using strings = std::vector<std::string>;

    predreg_target_t m_target = {};
};

TEST_F(test_info_target, linked) {
    read_list("\tlinux-vdso.so.1 (0x1)\n"
              "\tlibucp.so.0 => /a b/libucp.so.0 (0x2)\n"
              "\tlibucs.so.0 => /lib/libucs.so.0 (0x3)\n"
              "\tlibuct.so.0 => /lib/libuct.so.0 (0x4)\n"
              "\tlibuct.so.01 => /lib/libuct.so.01 (0x4)\n"
              "\t/lib64/ld-linux-x86-64.so.2 (0x5)\n");
    EXPECT_EQ(PREDREG_TARGET_LINKED, m_target.kind);
    EXPECT_EQ(strings({"/lib/libucs.so.0", "/lib/libuct.so.0",
                       "/a b/libucp.so.0"}), libraries());
    EXPECT_EQ(NULL, m_target.missing);
}

TEST_F(test_info_target, missing) {
    read_list("\tlibc.so.6 => /lib/libc.so.6 (0x2)\n"
              "\tlibucp.so.0 => not found\n");
    EXPECT_EQ(PREDREG_TARGET_LINKED, m_target.kind);
    EXPECT_STREQ("libucp.so.0", m_target.missing);
}

/* UCS alone, as this program has it, is nothing to communicate with */
TEST_F(test_info_target, plugin) {
    for (const char *list : {"", "\tlibc.so.6 => not found\n",
                             "\tlibucs.so.0 => /lib/libucs.so.0 (0x3)\n"}) {
        read_list(list);
        EXPECT_EQ(PREDREG_TARGET_PLUGIN, m_target.kind) << list;
        EXPECT_EQ(strings({"libucp.so.0"}), libraries()) << list;
        EXPECT_EQ(NULL, m_target.missing);
    }
}

TEST_F(test_info_target, no_command) {
    EXPECT_EQ(0, find(NULL));
    EXPECT_EQ(PREDREG_TARGET_NONE, m_target.kind);
    EXPECT_EQ(strings({"libucp.so.0"}), libraries());
    EXPECT_EQ(-1, find("no-such-command"));
}

TEST_F(test_info_target, kinds) {
    std::string script   = make_file("script", "#!/bin/sh\n", 0755);
    std::string launcher = make_file("mpirun", "#!/bin/sh\n", 0755);

    EXPECT_EQ(0, find(script.c_str()));
    EXPECT_EQ(PREDREG_TARGET_SCRIPT, m_target.kind);
    EXPECT_EQ(script, m_target.path);
    EXPECT_EQ(0, find(launcher.c_str()));
    EXPECT_EQ(PREDREG_TARGET_LAUNCHER, m_target.kind);
    /* This program has UCS only */
    EXPECT_EQ(0, find("/proc/self/exe"));
    EXPECT_EQ(PREDREG_TARGET_PLUGIN, m_target.kind);
    EXPECT_EQ(strings({"libucp.so.0"}), libraries());
}

TEST_F(test_info_target, elf_files) {
    std::string self(4096, '\0');

    std::ifstream("/proc/self/exe").read(&self[0], self.size());
    for (std::string content : {std::string(), std::string("\x7f" "ELF"),
                                std::string(1000, 'x')}) {
        EXPECT_EQ(0, find(make_file("none", content, 0755).c_str()));
        EXPECT_EQ(PREDREG_TARGET_SCRIPT, m_target.kind);
    }

    /* Without its segments it has no loader. Of another machine it is nothing */
    self[56] = self[57] = 0; /* e_phnum of ELF for 64 bits */
    EXPECT_EQ(0, find(make_file("static", self, 0755).c_str()));
    EXPECT_EQ(PREDREG_TARGET_STATIC, m_target.kind);
    self[18] ^= 1; /* e_machine */
    EXPECT_EQ(0, find(make_file("other", self, 0755).c_str()));
    EXPECT_EQ(PREDREG_TARGET_SCRIPT, m_target.kind);
}

TEST_F(test_info_target, rights) {
    std::string file = make_file("prog", "", 0755);

    /* Its owner has those rights */
    ASSERT_EQ(0, chmod(file.c_str(), 04755));
    EXPECT_EQ(0, find(file.c_str()));
    EXPECT_FALSE(m_target.is_privileged);
    if (geteuid() != 0) {
        GTEST_SKIP() << "not root, who may make files of other users";
    }

    ASSERT_EQ(0, chown(file.c_str(), 65534, 65534));
    for (mode_t mode : {04755, 02755, 00755}) {
        ASSERT_EQ(0, chmod(file.c_str(), mode));
        EXPECT_EQ(0, find(file.c_str()));
        EXPECT_EQ(mode != 00755, m_target.is_privileged) << mode;
    }
}
