/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/command_test.h>

extern "C" {
#include <tools/predreg/common/command.h>
}

#include <fcntl.h>
#include <unistd.h>

class test_dump : public command_test {
protected:
    void expect_refused(const std::vector<std::string> &args, int status,
                        const std::string &message)
    {
        EXPECT_EQ(status, call(predreg_dump, args));
        EXPECT_TRUE(contains(m_errors, message)) << m_errors;
    }
};

TEST_F(test_dump, text) {
    make_job("job", 1);
    EXPECT_EQ(0, call(predreg_dump, {path("job/0.trace")}));
    EXPECT_EQ(0u, m_output.find("ucx_predreg trace 3\n")) << m_output;
    EXPECT_FALSE(contains(m_output, "# "));

    /* What was printed is a trace that is printed likewise */
    std::string text = m_output;
    EXPECT_EQ(0, call(predreg_dump, {make_file("again", text)}));
    EXPECT_EQ(text, m_output);
    EXPECT_EQ(0, call(predreg_dump, {"-o", path("out"), path("again")}));
    EXPECT_EQ("", m_output);
    EXPECT_EQ(text, read("out"));
}

TEST_F(test_dump, folder) {
    std::string folder = make_job("job", 2);

    EXPECT_EQ(0, call(predreg_dump, {folder}));
    EXPECT_EQ(0u, m_output.find("# " + folder + "/0.trace\n"));
    EXPECT_TRUE(contains(m_output, "\n# " + folder + "/1.trace\n"));
}

TEST_F(test_dump, binary) {
    make_job("job", 1);
    EXPECT_EQ(0, call(predreg_dump, {path("job/0.trace")}));
    std::string text = m_output;

    EXPECT_EQ(0, call(predreg_dump, {"--binary", "--output", path("binary"),
                                     path("job/0.trace")}));
    EXPECT_NE(text, read("binary"));
    EXPECT_EQ(0, call(predreg_dump, {path("binary")}));
    EXPECT_EQ(text, m_output);
}

/* What was recorded, as text that the other commands read, and back */
TEST_F(test_dump, folder_to_folder) {
    std::string folder = make_job("job", 2);
    std::string binary = make_folder("binary"), text = make_folder("text");

    EXPECT_EQ(0, call(predreg_dump, {"--binary", "-o", binary, folder}));
    EXPECT_EQ(0u, read("binary/1.trace").find("\x89predreg"));
    EXPECT_EQ(0, call(predreg_dump, {"-o", text, binary}));
    EXPECT_EQ("", m_output + m_errors);
    for (std::string name : {"/0.trace", "/1.trace"}) {
        EXPECT_EQ(0, call(predreg_dump, {folder + name}));
        EXPECT_EQ(m_output, read("text" + name));
    }

    /* A single trace as well, but not over another one */
    EXPECT_EQ(0, call(predreg_dump, {"-o", make_folder("one"), folder + "/0.trace"}));
    EXPECT_EQ(read("text/0.trace"), read("one/0.trace"));
    expect_refused({"-o", binary, folder + "/0.trace"}, EXIT_FAILURE, "is a trace");
    EXPECT_EQ(0u, read("binary/0.trace").find("\x89predreg"));
}

TEST_F(test_dump, folder_that_is_read_is_not_written) {
    std::string folder = make_job("job", 2);
    std::string before = read("job/0.trace");

    expect_refused({"-o", make_link("link", folder), folder},
                   PREDREG_EXIT_USAGE, "is what is read; accepted: "
                   "another file");
    EXPECT_EQ(before, read("job/0.trace"));
}

/* A file that is read stays as it is, whatever its name as an output */
TEST_F(test_dump, file_that_is_read_is_not_written) {
    std::string folder = make_job("job", 2), file = folder + "/0.trace";
    std::string before = read("job/0.trace");

    for (std::string output : {file, make_link("link", file)}) {
        for (std::string input : {file, folder}) {
            expect_refused({"-o", output, input}, PREDREG_EXIT_USAGE, "dump: -o: '" +
                           output + "' is what is read; accepted: another file");
        }
    }
    expect_refused({"-o", folder, file}, EXIT_FAILURE, "is what is read");
    expect_refused({"-o", folder, make_link("0.trace", file)}, EXIT_FAILURE,
                   "is what is read");

    /* A file of the output folder is an input by a link */
    make_folder("out");
    make_link("out/1.trace", file);
    expect_refused({"-o", path("out"), folder}, EXIT_FAILURE,
                   path("out/1.trace") + "' is what is read");
    EXPECT_EQ(before, read("job/0.trace"));

    EXPECT_EQ(0, call(predreg_dump, {"-o", path("job/new.trace"), folder})) << m_errors;
}

TEST_F(test_dump, folder_cannot_be_read_as_one_trace) {
    EXPECT_EQ(0, call(predreg_dump, {make_job("job", 2)}));
    EXPECT_EQ(EXIT_FAILURE, call(predreg_dump, {make_file("all", m_output)}));
    std::string message = log_watch::take();
    EXPECT_TRUE(contains(message, "expected no second trace in a file; "
                         "'ucx_predreg dump -o FOLDER' writes one for each"))
            << message;
}

TEST_F(test_dump, bad_arguments) {
    std::string folder = make_job("job", 2);

    expect_refused({}, PREDREG_EXIT_USAGE, "dump: 0 arguments; accepted: one");
    expect_refused({"a", "b"}, PREDREG_EXIT_USAGE, "dump: 2 arguments");
    expect_refused({"--wrong", "a"}, PREDREG_EXIT_USAGE, "dump --help");
    expect_refused({"--binary", "a"}, PREDREG_EXIT_USAGE, "--output FILE");
    expect_refused({"--binary", "-o", path("x"), folder}, EXIT_FAILURE,
                   "has more than one trace; --binary accepts one, or");
    expect_refused({path("none")}, EXIT_FAILURE, "No such file");
    EXPECT_EQ(0, call_in_child(predreg_dump, {"--help"}));
    EXPECT_EQ(0u, m_output.find("usage: ucx_predreg dump [OPTIONS]"));
}

TEST_F(test_dump, cannot_be_written) {
    std::string trace = make_job("job", 2) + "/0.trace";

    make_folder("out");
    for (std::string output : {path("no/out"), std::string("/dev/full")}) {
        expect_refused({"-o", output, trace}, EXIT_FAILURE,
                       "dump: cannot write to '" + output + "'");
        expect_refused({"--binary", "-o", output, trace}, EXIT_FAILURE,
                       "dump: cannot write to '" + output + "'");
    }

    make_link("out/0.trace", "/dev/full");
    for (const char *form : {"--binary", "--"}) {
        expect_refused({"-o", path("out"), form, path("job")}, EXIT_FAILURE,
                       "dump: cannot write to '" + path("out/0.trace") + "'");
        EXPECT_FALSE(exists("out/1.trace"));
    }
}

/* What is short stays in the buffer of the stream until the end */
TEST_F(test_dump, standard_output_cannot_be_written) {
    std::string trace = make_job("job", 1) + "/0.trace";

    EXPECT_EQ(EXIT_FAILURE, call_in_child([](int argc, char **argv) {
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        return predreg_dump(argc, argv);
    }, {trace}));
    EXPECT_EQ("ucx_predreg: dump: cannot write to 'standard output': No space "
              "left on device\n", m_errors);
}
