/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifndef PREDREG_GTEST_TRACE_TEST_H_
#define PREDREG_GTEST_TRACE_TEST_H_

#include "library.h"
#include "log_watch.h"

#include <memory>
#include <string>

extern "C" {
#include <tools/trace/trace.h>
}


typedef ucs_rcache_pred_event_t event_t;

struct trace_deleter {
    void operator()(ucs_rcache_trace_t *trace) { ucs_rcache_trace_free(trace); }
};

typedef std::unique_ptr<ucs_rcache_trace_t, trace_deleter> trace_ptr;


/* A file without a name */
class memory_file {
public:
    explicit memory_file(const std::string &content = "");
    ~memory_file();

    memory_file(const memory_file &) = delete;

    int fd() const { return m_fd; }
    std::string path() const;
    std::string content() const;

private:
    int m_fd;
};


/* A writer of traces to a file without a name */
class trace_writer {
public:
    trace_writer();
    ~trace_writer() { close(); }

    operator ucs_rcache_trace_writer_t*() { return m_writer; }
    std::string content() const { return m_file.content(); }
    /* Destroy the writer; @return what it has written */
    std::string close();

private:
    memory_file               m_file;
    ucs_rcache_trace_writer_t *m_writer;
};


/* Put records. A writer changes no string */
static inline void put_meta(ucs_rcache_trace_writer_t *writer, const char *key,
                            const char *value)
{
    ucs_rcache_trace_meta_t meta = {(char*)key, (char*)value};

    ucs_rcache_trace_put(writer, TRACE_RECORD_META, &meta);
}

static inline void put_domain(ucs_rcache_trace_writer_t *writer,
                              uint16_t number, const char *name)
{
    ucs_rcache_trace_domain_t domain = {number, (char*)name};

    ucs_rcache_trace_put(writer, TRACE_RECORD_DOMAIN, &domain);
}

static inline void put_counter(ucs_rcache_trace_writer_t *writer,
                               const char *name, uint64_t value)
{
    ucs_rcache_trace_counter_t counter = {(char*)name, value};

    ucs_rcache_trace_put(writer, TRACE_RECORD_COUNTER, &counter);
}

static inline void put_lost(ucs_rcache_trace_writer_t *writer, uint64_t count)
{
    ucs_rcache_trace_put(writer, TRACE_RECORD_LOST, &count);
}


class trace_test : public ::testing::Test {
protected:
    /* NULL if it cannot be parsed; then m_status and the log say why */
    trace_ptr parse(const std::string &content);

    /* The same for a text trace, without the line that all begin with */
    trace_ptr parse_text(const std::string &lines);

    static std::string text_of(const trace_ptr &trace);
    static std::string binary_of(const trace_ptr &trace);

    /* Expect that each form of a trace, made of the other, is the same trace */
    void expect_round_trips(const trace_ptr &trace);
    static void expect_equal(const trace_ptr &expected, const trace_ptr &found);
    static void expect_equal(const event_t &expected, const event_t &found);

    /* Expect that parsing fails with this status, and logs this */
    void expect_error(const std::string &content, ucs_status_t status,
                      const std::string &message);
    void expect_text_error(const std::string &lines,
                           const std::string &message);

    /* A random event of any type; the fields that its type does not have are
     * 0 */
    template <typename R> event_t random_event(R &random);

    static event_t make_event(ucs_rcache_pred_event_type_t type, uint64_t time);

    ucs_status_t m_status = UCS_OK;
};


template <typename R> event_t trace_test::random_event(R &random)
{
    /* Small numbers, any numbers, and those at the end of the range */
    auto number = [&random]() -> uint64_t {
        switch (random() % 4) {
        case 0:
            return random() % 3;
        case 1:
            return UINT64_MAX - random() % 3;
        default:
            return random() >> (random() % 64);
        }
    };
    event_t event = make_event((ucs_rcache_pred_event_type_t)(
                                       random() % UCS_RCACHE_PRED_EVENT_LAST),
                               number());

    if ((event.type != UCS_RCACHE_PRED_EVENT_UNMAP) &&
        (event.type != UCS_RCACHE_PRED_EVENT_MAP)) {
        event.id     = (random() % 2) ? random() % 500 : number();
        event.domain = number();
    }
    if (event.type != UCS_RCACHE_PRED_EVENT_USE_END) {
        event.address = number();
        event.length  = number();
    }

    switch (event.type) {
    case UCS_RCACHE_PRED_EVENT_USE_BEGIN:
        event.result         = number();
        event.kind           = random() % UCS_RCACHE_PRED_USE_LAST;
        event.flags          = number();
        event.duration       = number();
        event.context.caller = number();
        event.context.stack  = number();
        event.context.window = number();
        break;
    case UCS_RCACHE_PRED_EVENT_USE_END:
        event.duration = number();
        break;
    case UCS_RCACHE_PRED_EVENT_REG:
    case UCS_RCACHE_PRED_EVENT_DEREG:
        event.result   = number();
        event.by       = random() % UCS_RCACHE_PRED_BY_LAST;
        event.duration = number();
        break;
    case UCS_RCACHE_PRED_EVENT_DEADLINE:
        event.result   = number();
        event.deadline = number();
        event.period   = number();
        break;
    case UCS_RCACHE_PRED_EVENT_UNMET:
        event.result = number();
        break;
    }

    if (((event.type == UCS_RCACHE_PRED_EVENT_USE_BEGIN) ||
         (event.type == UCS_RCACHE_PRED_EVENT_REG) ||
         (event.type == UCS_RCACHE_PRED_EVENT_DEREG)) &&
        !(event.result & UCS_RCACHE_PRED_RESULT_FAILED)) {
        event.length += (event.length == 0); /* The text form wants that */
    }

    return event;
}

#endif
