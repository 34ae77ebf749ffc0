/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "trace_test.h"

#include <sys/mman.h>
#include <string.h>
#include <unistd.h>

#include <stdexcept>


memory_file::memory_file(const std::string &content) :
    m_fd(memfd_create("trace", MFD_CLOEXEC))
{
    if ((m_fd < 0) || (write(m_fd, content.data(), content.size()) !=
                       (ssize_t)content.size())) {
        throw std::runtime_error("memfd_create failed");
    }
}

memory_file::~memory_file()
{
    close(m_fd);
}

std::string memory_file::path() const
{
    return "/proc/self/fd/" + std::to_string(m_fd);
}

std::string memory_file::content() const
{
    std::string content(lseek(m_fd, 0, SEEK_END), '\0');

    if (pread(m_fd, &content[0], content.size(), 0) !=
        (ssize_t)content.size()) {
        throw std::runtime_error("pread failed");
    }
    return content;
}

trace_writer::trace_writer()
{
    if (ucs_rcache_trace_writer_create(m_file.fd(), &m_writer) != UCS_OK) {
        throw std::bad_alloc();
    }
}

std::string trace_writer::close()
{
    if (m_writer != NULL) {
        ucs_rcache_trace_writer_destroy(m_writer);
        m_writer = NULL;
    }
    return m_file.content();
}

trace_ptr trace_test::parse(const std::string &content)
{
    ucs_rcache_trace_t *trace = NULL;

    m_status = ucs_rcache_trace_parse("test", content.data(), content.size(),
                                      &trace);
    EXPECT_EQ(m_status == UCS_OK, trace != NULL);
    return trace_ptr(trace);
}

trace_ptr trace_test::parse_text(const std::string &lines)
{
    return parse("ucx_predreg trace 3\n" + lines);
}

std::string trace_test::text_of(const trace_ptr &trace)
{
    char *text  = NULL;
    size_t size = 0;
    FILE *file  = open_memstream(&text, &size);

    EXPECT_EQ(UCS_OK, ucs_rcache_trace_print(trace.get(), file));
    fclose(file);

    std::string copy(text, size);
    free(text);
    return copy;
}

std::string trace_test::binary_of(const trace_ptr &trace)
{
    memory_file file;

    EXPECT_EQ(UCS_OK, ucs_rcache_trace_write(trace.get(), file.fd()));
    return file.content();
}

void trace_test::expect_equal(const event_t &expected, const event_t &found)
{
    EXPECT_EQ(expected.type, found.type);
    EXPECT_EQ(expected.result, found.result);
    EXPECT_EQ(expected.kind, found.kind);
    EXPECT_EQ(expected.by, found.by);
    EXPECT_EQ(expected.domain, found.domain);
    EXPECT_EQ(expected.flags, found.flags);
    EXPECT_EQ(expected.time, found.time);
    EXPECT_EQ(expected.duration, found.duration);
    EXPECT_EQ(expected.id, found.id);
    EXPECT_EQ(expected.address, found.address);
    EXPECT_EQ(expected.length, found.length);
    EXPECT_EQ(expected.context.caller, found.context.caller);
    EXPECT_EQ(expected.context.stack, found.context.stack);
    EXPECT_EQ(expected.context.window, found.context.window);
    EXPECT_EQ(expected.deadline, found.deadline);
    EXPECT_EQ(expected.period, found.period);
}

void trace_test::expect_equal(const trace_ptr &expected, const trace_ptr &found)
{
    ASSERT_TRUE((expected != NULL) && (found != NULL));

    ASSERT_EQ(expected->num_meta, found->num_meta);
    for (unsigned i = 0; i < found->num_meta; ++i) {
        EXPECT_STREQ(expected->meta[i].key, found->meta[i].key);
        EXPECT_STREQ(expected->meta[i].value, found->meta[i].value);
    }

    ASSERT_EQ(expected->num_domains, found->num_domains);
    for (unsigned i = 0; i < found->num_domains; ++i) {
        EXPECT_STREQ(expected->domains[i].name, found->domains[i].name);
    }

    ASSERT_EQ(expected->num_sites, found->num_sites);
    for (unsigned i = 0; i < found->num_sites; ++i) {
        EXPECT_EQ(expected->sites[i].caller, found->sites[i].caller);
        EXPECT_EQ(expected->sites[i].stack, found->sites[i].stack);
        ASSERT_EQ(expected->sites[i].num_frames, found->sites[i].num_frames);
        for (unsigned j = 0; j < found->sites[i].num_frames; ++j) {
            EXPECT_EQ(expected->sites[i].frames[j], found->sites[i].frames[j]);
        }
    }

    ASSERT_EQ(expected->num_modules, found->num_modules);
    for (unsigned i = 0; i < found->num_modules; ++i) {
        const ucs_rcache_trace_module_t &a = expected->modules[i];
        const ucs_rcache_trace_module_t &b = found->modules[i];
        EXPECT_EQ(a.start, b.start);
        EXPECT_EQ(a.end, b.end);
        EXPECT_EQ(a.bias, b.bias);
        EXPECT_STREQ(a.path, b.path);
        ASSERT_EQ(a.build_id_length, b.build_id_length);
        EXPECT_EQ(0, memcmp(a.build_id, b.build_id, a.build_id_length));
    }

    ASSERT_EQ(expected->num_counters, found->num_counters);
    for (unsigned i = 0; i < found->num_counters; ++i) {
        EXPECT_STREQ(expected->counters[i].name, found->counters[i].name);
        EXPECT_EQ(expected->counters[i].value, found->counters[i].value);
    }

    ASSERT_EQ(expected->num_sends, found->num_sends);
    for (size_t i = 0; i < found->num_sends; ++i) {
        EXPECT_EQ(expected->sends[i].address, found->sends[i].address);
        EXPECT_EQ(expected->sends[i].length, found->sends[i].length);
        EXPECT_EQ(expected->sends[i].count, found->sends[i].count);
        EXPECT_EQ(expected->sends[i].copied, found->sends[i].copied);
    }

    ASSERT_EQ(expected->num_events, found->num_events);
    for (size_t i = 0; i < found->num_events; ++i) {
        expect_equal(expected->events[i], found->events[i]);
        if (HasFailure()) {
            FAIL() << "event " << i;
        }
    }

    EXPECT_EQ(expected->lost, found->lost);
    EXPECT_EQ(expected->truncated, found->truncated);
}

void trace_test::expect_round_trips(const trace_ptr &trace)
{
    ASSERT_TRUE(trace != NULL);

    trace_ptr from_text = parse(text_of(trace));
    expect_equal(trace, from_text);
    ASSERT_FALSE(HasFailure()) << text_of(trace);

    trace_ptr from_binary = parse(binary_of(from_text));
    expect_equal(trace, from_binary);
}

void trace_test::expect_error(const std::string &content, ucs_status_t status,
                              const std::string &message)
{
    EXPECT_EQ(nullptr, parse(content));
    EXPECT_EQ(status, m_status);

    std::string logged = log_watch::take();
    EXPECT_NE(std::string::npos, logged.find(message))
            << "expected: " << message << "\nlogged:   " << logged;
    EXPECT_EQ("", log_watch::take());
}

void trace_test::expect_text_error(const std::string &lines,
                                   const std::string &message)
{
    expect_error("ucx_predreg trace 3\n" + lines, UCS_ERR_INVALID_PARAM,
                 message);
}

event_t trace_test::make_event(ucs_rcache_pred_event_type_t type, uint64_t time)
{
    event_t event;

    memset(&event, 0, sizeof(event));
    event.type = type;
    event.time = time;
    return event;
}
