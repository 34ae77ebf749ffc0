/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

#include <uct/api/uct.h>

#include <cstdio>
#include <dlfcn.h>
#include <filesystem>

/* The preloaded library as it was built, loaded by a program that has UCS, but
 * neither UCT nor UCP. Each test does so in a process of its own. */
class test_preload : public command_test {
protected:
    static constexpr const char *LIBRARY = "libuct_predreg.so";
    static constexpr const char *CORE    = "libuct_predreg_core.so";

    test_preload()
    {
        /* The core would ask for memory events otherwise */
        setenv("UCX_RCACHE_PRED_POLICY", "leave-pinned", 1);
    }

    /* Bring what was built to the folder of this test, under a name */
    void copy(const std::string &library, const std::string &name)
    {
        std::filesystem::copy(TEST_TOP_BUILDDIR "/src/uct/ib/predreg/.libs/" +
                              library, path(name));
    }

    /* Load the library, and call functions of it by their names. Prints what
     * each one returns. */
    static int load(int argc, char **argv)
    {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

        if (library == nullptr) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }

        for (int i = 2; i < argc; ++i) {
            auto func = reinterpret_cast<ucs_status_t (*)(void*, void*, void*,
                                                          void*)>(
                    dlsym(library, argv[i]));
            printf("%s: %d\n", argv[i],
                   func(nullptr, nullptr, nullptr, nullptr));
        }
        return 0;
    }

    /* How often this is among the errors */
    unsigned count(const std::string &part) const
    {
        unsigned count = 0;

        for (size_t pos = m_errors.find(part); pos != std::string::npos;
             pos = m_errors.find(part, pos + 1)) {
            ++count;
        }
        return count;
    }
};

TEST_F(test_preload, it_brings_its_core) {
    copy(LIBRARY, LIBRARY);
    copy(CORE, CORE);
    EXPECT_EQ(0, call_in_child(load, {path(LIBRARY)}));
    EXPECT_EQ("", m_errors);
}

TEST_F(test_preload, without_its_core_it_steps_aside) {
    copy(LIBRARY, LIBRARY);
    EXPECT_EQ(0, call_in_child(load, {path(LIBRARY)}));
    EXPECT_EQ(0u, m_errors.find("ucx-predreg: stepping aside: cannot load " +
                                path(CORE) + ": ")) << m_errors;
}

TEST_F(test_preload, beside_a_core_of_another_version_it_steps_aside) {
    Dl_info info;

    copy(LIBRARY, LIBRARY);
    /* It is a library, but not the core */
    ASSERT_NE(0, dladdr(dlsym(RTLD_DEFAULT, "cos"), &info));
    std::filesystem::copy(info.dli_fname, path(CORE));
    EXPECT_EQ(0, call_in_child(load, {path(LIBRARY)}));
    EXPECT_EQ(1u, count(std::string("ucx-predreg: stepping aside: ") + CORE +
                        " belongs to another version\n")) << m_errors;
}

TEST_F(test_preload, functions_that_are_missing_are_named_once) {
    copy(LIBRARY, LIBRARY);
    copy(CORE, CORE);
    EXPECT_EQ(0, call_in_child(load, {path(LIBRARY), "ucp_worker_arm",
                                      "uct_md_mem_dereg", "ucp_worker_arm"}));
    for (std::string name : {"ucp_worker_arm", "uct_md_mem_dereg"}) {
        EXPECT_EQ(1u, count("ucx-predreg: " + name + " was called by "))
                << m_errors;
    }
    EXPECT_EQ(2u, count(", but there is no such function in this process\n"))
            << m_errors;

    const std::string result = std::to_string(UCS_ERR_UNSUPPORTED) + "\n";
    EXPECT_EQ("ucp_worker_arm: " + result + "uct_md_mem_dereg: " + result +
              "ucp_worker_arm: " + result, m_output);
}
