/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "log_watch.h"
#include "library.h"

#include <ucs/debug/log_def.h>

#include <deque>
#include <mutex>
#include <stdarg.h>
#include <stdio.h>


static std::mutex              log_lock;
/* Never destroyed: the library logs at the exit of a child, too */
static std::deque<std::string> &log_messages = *new std::deque<std::string>;

static ucs_log_func_rc_t
log_handler(const char *file, unsigned line, const char *function,
            ucs_log_level_t level, const ucs_log_component_config_t *comp_conf,
            const char *format, va_list ap)
{
    char message[512];

    if (level > UCS_LOG_LEVEL_WARN) {
        return UCS_LOG_FUNC_RC_CONTINUE;
    }

    vsnprintf(message, sizeof(message), format, ap);
    std::lock_guard<std::mutex> guard(log_lock);
    log_messages.push_back(message);
    return UCS_LOG_FUNC_RC_STOP;
}

std::string log_watch::take()
{
    std::lock_guard<std::mutex> guard(log_lock);
    std::string message;

    if (!log_messages.empty()) {
        message = log_messages.front();
        log_messages.pop_front();
    }

    return message;
}

namespace {

class log_listener : public ::testing::EmptyTestEventListener {
    void OnTestEnd(const ::testing::TestInfo &info) override
    {
        std::string message;

        while (!(message = log_watch::take()).empty()) {
            ADD_FAILURE() << "logged: " << message;
        }
    }
};

} // namespace

void log_watch::install()
{
    ucs_log_push_handler(log_handler);

    /* This listener is put before the one that prints, which would not see the
     * failures otherwise */
    auto &listeners = ::testing::UnitTest::GetInstance()->listeners();
    auto *printer   = listeners.Release(listeners.default_result_printer());
    listeners.Append(new log_listener);
    listeners.Append(printer);
}
