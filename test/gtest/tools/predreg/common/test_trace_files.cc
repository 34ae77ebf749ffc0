/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>
#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
#include <tools/predreg/common/trace_files.h>
}

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

class test_trace_files : public command_test {
protected:
    struct seen {
        std::string name;
        long        rank;
        unsigned    input;
    };

    static ucs_status_t see(ucs_rcache_trace_t *trace, unsigned input, void *arg)
    {
        auto self        = (test_trace_files*)arg;
        std::string path = trace->path;

        self->m_seen.push_back({path.substr(path.rfind('/') + 1),
                                predreg_trace_rank(trace), input});
        ucs_rcache_trace_free(trace);
        return (self->m_seen.size() == self->m_max) ? UCS_ERR_CANCELED :
               (self->m_seen.back().name == self->m_unusable) ?
               UCS_ERR_INVALID_PARAM : UCS_OK;
    }

    ucs_status_t load(const std::vector<std::string> &paths,
                      predreg_paths_t *left_out = NULL)
    {
        string_vector vector(paths);

        m_seen.clear();
        return capture([&] {
            return predreg_traces_each(vector.get(), paths.size(), see, this,
                                       left_out);
        });
    }

    ucs_status_t load(const std::string &path)
    {
        return load(std::vector<std::string>{path});
    }

    std::string make_trace(const std::string &name, const std::string &rank)
    {
        return make_file(name, "ucx_predreg trace 1\n" +
                         (rank.empty() ? "" : "meta rank " + rank + "\n"));
    }

    std::vector<std::string> names() const
    {
        std::vector<std::string> names;

        for (const seen &trace : m_seen) {
            names.push_back(trace.name);
        }
        return names;
    }

    std::vector<seen> m_seen;
    size_t            m_max = 1000; /* So many are taken */
    std::string       m_unusable;   /* Name of a trace to be left out */
};

typedef std::vector<std::string> names_t;

TEST_F(test_trace_files, file) {
    EXPECT_EQ(UCS_OK, load(make_trace("any name", "7")));
    EXPECT_EQ(names_t({"any name"}), names());
    EXPECT_EQ(7, m_seen.at(0).rank);
}

TEST_F(test_trace_files, folder_by_name) {
    std::string folder = make_folder("job");

    make_trace("job/a.trace", "10");
    make_trace("job/b.trace", "9");
    make_trace("job/c.trace", "");
    make_trace("job/d.trace", "0");
    make_trace("job/a0.trace", "");
    make_file("job/notes.txt", "text");
    make_file("job/.trace", "text");
    EXPECT_EQ(UCS_OK, load(folder)) << m_errors;
    EXPECT_EQ(names_t({"a.trace", "a0.trace", "b.trace", "c.trace", "d.trace"}),
              names());
    EXPECT_EQ("", m_errors);
}

TEST_F(test_trace_files, missing_rank) {
    std::string folder = make_folder("job");

    make_trace("job/0.trace", "0");
    make_trace("job/2.trace", "2");
    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_EQ(names_t({"0.trace", "2.trace"}), names());
}

TEST_F(test_trace_files, no_rank) {
    for (const char *rank : {"", "x", "-1", "1x", "9223372036854775808"}) {
        EXPECT_EQ(UCS_OK, load(make_trace("t", rank)));
        EXPECT_EQ(-1, m_seen.at(0).rank) << rank;
    }
}

TEST_F(test_trace_files, two_jobs) {
    std::string folder = make_folder("job");

    for (const char *rank : {"0", "1"}) {
        make_trace("job/a" + std::string(rank) + ".trace", rank);
        make_trace("job/b" + std::string(rank) + ".trace", rank);
    }
    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_EQ("ucx_predreg: warning: rank 0 has two traces, '" + folder +
              "/a0.trace' and '" + folder + "/b0.trace': of two jobs?\n",
              m_errors);

    /* Processes without a rank are no ranks of two jobs */
    folder = make_folder("none");
    make_trace("none/a.trace", "");
    make_trace("none/b.trace", "");
    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_EQ("", m_errors);
}

TEST_F(test_trace_files, nothing_there) {
    EXPECT_EQ(UCS_ERR_NO_ELEM, load(path("none")));
    EXPECT_TRUE(contains(m_errors, "'" + path("none") + "': No such file or "
                         "directory; accepted: a trace, a folder of traces, or -"))
            << m_errors;
    EXPECT_EQ(UCS_ERR_NO_ELEM, load(make_folder("empty")));
    EXPECT_TRUE(contains(m_errors, "there is no trace in '" + path("empty") +
                         "': no file named *.trace")) << m_errors;
}

TEST_F(test_trace_files, damaged_ones_are_left_out) {
    std::string folder = make_job("job", 2);
    std::string bad    = make_file("job/00.trace", "no trace\n");
    std::string empty  = make_file("job/z.trace");

    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_TRUE(contains(log_watch::take(), bad));
    EXPECT_TRUE(contains(log_watch::take(), empty));
    EXPECT_EQ(names_t({"0.trace", "1.trace"}), names());
    EXPECT_EQ("ucx_predreg: warning: '" + bad + "' is left out\n"
              "ucx_predreg: warning: '" + empty + "' is left out\n", m_errors);
}

/* Whoever opens a pipe waits for its writer, and a device need not end */
TEST_F(test_trace_files, only_files_of_a_folder_are_read) {
    std::string folder = make_job("job", 1);
    std::string device = make_link("job/device.trace", "/dev/zero");
    std::string other  = make_folder("job/folder.trace");
    std::string link   = make_link("job/link.trace", path("linked"));
    std::string broken = make_link("job/none.trace", path("none"));
    std::string pipe   = path("job/pipe.trace");
    std::string left_out;

    make_trace("linked", "1");
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_EQ(names_t({"0.trace", "link.trace"}), names());
    EXPECT_TRUE(contains(m_errors, "ucx_predreg: '" + device + "' is a device; "
                         "accepted in a folder: files\n")) << m_errors;
    EXPECT_TRUE(contains(m_errors, "'" + other + "' is a folder; "));
    EXPECT_TRUE(contains(m_errors, "'" + pipe + "' is a pipe; "));
    EXPECT_TRUE(contains(log_watch::take(), broken));
    for (const std::string &name : {device, other, broken, pipe}) {
        EXPECT_TRUE(contains(m_errors, "warning: '" + name + "' is left out"))
                << m_errors;
    }
}

/* A pipe that is named is read */
TEST_F(test_trace_files, pipe) {
    std::string pipe = path("pipe");
    std::string text = "ucx_predreg trace 1\nmeta rank 3\n";

    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    child writer([&] {
        int fd = open(pipe.c_str(), O_WRONLY); /* Waits for the reader */

        return write(fd, text.data(), text.size()) != (ssize_t)text.size();
    });
    EXPECT_EQ(UCS_OK, load(pipe));
    EXPECT_EQ(3, m_seen.at(0).rank);
    EXPECT_EQ(0, writer.reap());
}

TEST_F(test_trace_files, all_are_damaged) {
    std::string folder = make_folder("job");

    make_file("job/a.trace", "no trace\n");
    make_file("job/b.trace");
    EXPECT_NE(UCS_OK, load(folder));
    EXPECT_TRUE(contains(m_errors, "ucx_predreg: no trace in '" + folder +
                         "' can be read\n")) << m_errors;
    EXPECT_NE("", log_watch::take());
    EXPECT_NE("", log_watch::take());
    EXPECT_NE(UCS_OK, load(path("job/a.trace")));
    EXPECT_NE("", log_watch::take());
}

TEST_F(test_trace_files, several_paths) {
    std::string folder = make_job("job", 2);
    std::string file   = make_trace("file", "7");

    EXPECT_EQ(UCS_OK, load({file, folder}));
    EXPECT_EQ(names_t({"file", "0.trace", "1.trace"}), names());
    EXPECT_EQ(0u, m_seen.at(0).input);
    EXPECT_EQ(1u, m_seen.at(2).input);
    EXPECT_EQ("", m_errors);

    file = make_trace("file", "1");
    EXPECT_EQ(UCS_OK, load({file, folder}));
    EXPECT_TRUE(contains(m_errors, "warning: rank 1 has two traces, '" + file +
                         "' and '" + folder + "/1.trace': of two jobs?"))
            << m_errors;

    EXPECT_EQ(UCS_ERR_NO_ELEM, load({file, path("none"), folder}));
    EXPECT_EQ(1u, m_seen.size());

    /* A damaged file among others is left out */
    std::string bad = make_file("bad", "no trace\n");
    EXPECT_EQ(UCS_OK, load({bad, folder}));
    EXPECT_TRUE(contains(m_errors, "warning: '" + bad + "' is left out"));
    EXPECT_NE("", log_watch::take());
    EXPECT_EQ(UCS_ERR_IO_ERROR, load({bad}));
    EXPECT_EQ("", m_errors);
    EXPECT_NE("", log_watch::take());
}

TEST_F(test_trace_files, unusable_ones_are_left_out) {
    std::string folder       = make_job("job", 2);
    predreg_paths_t left_out = {};

    m_unusable = "0.trace";
    EXPECT_EQ(UCS_OK, load(folder));
    EXPECT_EQ("ucx_predreg: warning: '" + folder + "/0.trace' is left out\n",
              m_errors);

    /* The caller warns */
    EXPECT_EQ(UCS_OK, load({folder}, &left_out));
    EXPECT_EQ("", m_errors);
    ASSERT_EQ(1u, left_out.num);
    EXPECT_EQ(folder + "/0.trace", left_out.list[0]);
    predreg_paths_cleanup(&left_out);

    EXPECT_EQ(UCS_ERR_INVALID_PARAM, load(folder + "/0.trace"));
    EXPECT_EQ("", m_errors);
}

TEST(test_message, is_said) {
    ::testing::internal::CaptureStderr();
    predreg_error("%s is %d", "it", 1);
    EXPECT_EQ("ucx_predreg: it is 1\n",
              ::testing::internal::GetCapturedStderr());
    EXPECT_EXIT(predreg_check_memory(NULL),
                ::testing::ExitedWithCode(PREDREG_EXIT_CANNOT_RUN),
                "ucx_predreg: out of memory");
}

TEST_F(test_trace_files, up_to_an_error) {
    std::string folder = make_folder("job");

    m_max = 2;
    make_trace("job/a.trace", "1");
    make_trace("job/b.trace", "0");
    EXPECT_EQ(UCS_ERR_CANCELED, load(folder));
    EXPECT_EQ(names_t({"a.trace", "b.trace"}), names());

    make_trace("job/c.trace", "2");
    EXPECT_EQ(UCS_ERR_CANCELED, load(folder));
    EXPECT_EQ(2u, m_seen.size());
    EXPECT_EQ("", m_errors);
}
