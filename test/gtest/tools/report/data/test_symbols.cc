/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/data/sites.h>
}

#include <cstring>
#include <link.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>


/* Where a function was called from, and the line of the call in it */
struct place {
    uint64_t address;
    int      line;
};

static place inlined_place;

static inline __attribute__((always_inline)) uint64_t here()
{
    return (uintptr_t)__builtin_return_address(0);
}

static __attribute__((noinline)) place called()
{
    return {here(), 0};
}

static inline __attribute__((always_inline)) void inlined_caller()
{
    inlined_place      = called();
    inlined_place.line = __LINE__ - 1;
}

static int outer_line;

/* Not static: has a name also without debug information */
extern "C" __attribute__((noinline)) void test_symbols_outer()
{
    inlined_caller();
    outer_line = __LINE__ - 1;
}

class test_symbols : public ::testing::Test {
protected:
    typedef std::vector<predreg_frame_t> frames_t;

    test_symbols()
    {
        char path[4096];
        ssize_t length = readlink("/proc/self/exe", path, sizeof(path));

        m_path.assign(path, length);
        memset(&m_trace, 0, sizeof(m_trace));
        memset(&m_module, 0, sizeof(m_module));
        m_module.path       = (char*)m_path.c_str();
        m_trace.modules     = &m_module;
        m_trace.num_modules = 1;
        dl_iterate_phdr(note_program, &m_module);
        test_symbols_outer();
    }

    ~test_symbols() { predreg_symbols_cleanup(&m_symbols); }

    /* The first one is the program; the linker may give it a build ID */
    static int note_program(struct dl_phdr_info *info, size_t size, void *arg)
    {
        ucs_rcache_trace_module_t *module = (ucs_rcache_trace_module_t*)arg;

        module->bias = info->dlpi_addr;
        for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
            const ElfW(Phdr) &phdr = info->dlpi_phdr[i];
            uintptr_t start        = info->dlpi_addr + phdr.p_vaddr;

            if ((phdr.p_type == PT_LOAD) && (phdr.p_flags & PF_X)) {
                module->start = start;
                module->end   = start + phdr.p_memsz;
            } else if (phdr.p_type == PT_NOTE) {
                note_build_id(module, start, start + phdr.p_memsz);
            }
        }
        return 1;
    }

    static void note_build_id(ucs_rcache_trace_module_t *module,
                              uintptr_t start, uintptr_t end)
    {
        while (start + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr)*)start;
            uintptr_t content      = start + sizeof(*note) +
                                     ((note->n_namesz + 3) & ~3u);

            if (note->n_type == NT_GNU_BUILD_ID) {
                module->build_id_length = note->n_descsz;
                memcpy(module->build_id, (void*)content, note->n_descsz);
            }
            start = content + ((note->n_descsz + 3) & ~3u);
        }
    }

    frames_t find(uint64_t address, unsigned max = 8)
    {
        frames_t frames(max);

        frames.resize(predreg_symbols_find(&m_symbols, &m_trace, address,
                                           frames.data(), max));
        return frames;
    }

    predreg_module_state_t state()
    {
        EXPECT_EQ(1u, m_symbols.num_modules);
        EXPECT_EQ(m_path, m_symbols.modules[0].path);
        return m_symbols.modules[0].state;
    }

    void forget()
    {
        predreg_symbols_cleanup(&m_symbols);
        m_symbols = {};
    }

    bool is_read()
    {
        find(inlined_place.address);
        return state() != PREDREG_MODULE_NOT_READ;
    }

    void expect_offset(const frames_t &frames)
    {
        ASSERT_EQ(1u, frames.size());
        EXPECT_EQ(m_path, frames[0].module);
        EXPECT_EQ(inlined_place.address - m_module.bias, frames[0].offset);
        EXPECT_EQ(NULL, frames[0].function);
        EXPECT_EQ(NULL, frames[0].file);
    }

    std::string               m_path;
    ucs_rcache_trace_t        m_trace;
    ucs_rcache_trace_module_t m_module;
    predreg_symbols_t         m_symbols = {};
};

#define SKIP_WITHOUT_LIBDW() \
    if (!is_read()) { \
        GTEST_SKIP() << "built without libdw"; \
    }

TEST_F(test_symbols, inlined_functions_and_lines)
{
    SKIP_WITHOUT_LIBDW();
    frames_t frames = find(inlined_place.address);
    if (frames[0].file == NULL) {
        GTEST_SKIP() << "built without debug information";
    }

    EXPECT_EQ(PREDREG_MODULE_READ, state());
    ASSERT_EQ(2u, frames.size());
    EXPECT_STREQ("inlined_caller", frames[0].function);
    EXPECT_EQ(inlined_place.line, frames[0].line);
    EXPECT_STREQ("test_symbols_outer", frames[1].function);
    EXPECT_EQ(outer_line, frames[1].line);
    for (const auto &frame : frames) {
        EXPECT_TRUE(strstr(frame.file, "test_symbols.cc")) << frame.file;
        EXPECT_EQ(m_path, frame.module);
    }
}

TEST_F(test_symbols, no_more_frames_than_there_is_room)
{
    SKIP_WITHOUT_LIBDW();
    frames_t frames = find(inlined_place.address, 1);
    ASSERT_EQ(1u, frames.size());
    EXPECT_TRUE(frames[0].function != NULL);
}

/* By another name, which is gone when a second address is looked for */
TEST_F(test_symbols, file_is_opened_once)
{
    SKIP_WITHOUT_LIBDW();
    const std::string program = m_path;
    char folder[]             = "/tmp/test_symbols.XXXXXX";

    ASSERT_NE(nullptr, mkdtemp(folder));
    forget();
    m_path        = std::string(folder) + "/program";
    m_module.path = (char*)m_path.c_str();
    ASSERT_EQ(0, symlink(program.c_str(), m_path.c_str()));
    find(inlined_place.address);
    predreg_module_state_t first = state();
    EXPECT_EQ(0, unlink(m_path.c_str()));
    EXPECT_EQ(0, rmdir(folder));
    EXPECT_NE(PREDREG_MODULE_MISSING, first);
    find(inlined_place.address + 1);
    EXPECT_EQ(first, state());
}

TEST_F(test_symbols, another_build_is_not_asked)
{
    SKIP_WITHOUT_LIBDW();
    if (m_module.build_id_length == 0) {
        GTEST_SKIP() << "linked without a build ID";
    }

    forget();
    ++m_module.build_id[0];
    expect_offset(find(inlined_place.address));
    EXPECT_EQ(PREDREG_MODULE_CHANGED, state());
}

TEST_F(test_symbols, missing_file)
{
    SKIP_WITHOUT_LIBDW();
    forget();
    m_path        = "/nowhere/at/all";
    m_module.path = (char*)m_path.c_str();
    expect_offset(find(inlined_place.address));
    EXPECT_EQ(PREDREG_MODULE_MISSING, state());
}

TEST_F(test_symbols, file_that_is_no_program)
{
    SKIP_WITHOUT_LIBDW();
    forget();
    m_path        = "/proc/self/status";
    m_module.path = (char*)m_path.c_str();
    expect_offset(find(inlined_place.address));
    EXPECT_EQ(PREDREG_MODULE_MISSING, state());
}

/* Nobody waits until somebody writes to a pipe that a trace names */
TEST_F(test_symbols, file_that_is_a_pipe)
{
    SKIP_WITHOUT_LIBDW();
    char folder[] = "/tmp/test_symbols.XXXXXX";

    ASSERT_NE(nullptr, mkdtemp(folder));
    forget();
    m_path        = std::string(folder) + "/pipe";
    m_module.path = (char*)m_path.c_str();
    ASSERT_EQ(0, mkfifo(m_module.path, 0600));
    alarm(10); /* Ends the test if it waits */
    expect_offset(find(inlined_place.address));
    alarm(0);
    EXPECT_EQ(PREDREG_MODULE_MISSING, state());
    unlink(m_module.path);
    rmdir(folder);
}

TEST_F(test_symbols, address_in_no_module)
{
    for (uint64_t address : {(uint64_t)0, (uint64_t)1, m_module.start,
                             m_module.end + 1, UINT64_MAX}) {
        frames_t frames = find(address);
        ASSERT_EQ(1u, frames.size());
        EXPECT_EQ(NULL, frames[0].module);
        EXPECT_EQ(NULL, frames[0].function);
        EXPECT_EQ(address, frames[0].offset);
    }
    EXPECT_EQ(0u, m_symbols.num_modules);
}

TEST_F(test_symbols, communication_libraries)
{
    for (const char *path :
         {"/usr/lib/libucp.so.0", "/opt/libuct_predreg.so", "libmpi.so.40",
          "/x/mca_pml_ucx.so", "/x/libopen-pal.so.40", "/x/libmpich.so.12",
          "libfabric.so.1", "/usr/lib/liboshmem.so"}) {
        EXPECT_TRUE(predreg_module_is_communication(path)) << path;
    }

    for (const char *path :
         {"/home/me/libmpi/app", "/usr/lib/libc.so.6", "app", "",
          "/opt/lammps/liblammps.so.0"}) {
        EXPECT_FALSE(predreg_module_is_communication(path)) << path;
    }
}
