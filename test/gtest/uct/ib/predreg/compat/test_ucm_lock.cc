/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/child.h>

#include <uct/ib/predreg/compat/ucm_lock.h>

#include <functional>
#include <future>
#include <thread>

/* UCM's own, which it has no installed header for */
extern "C" {
void ucm_event_enter(void);
void ucm_event_enter_exclusive(void);
void ucm_event_leave(void);
}

/* Children that are forked while another thread is within UCM */
class test_ucm_lock : public ::testing::Test {
protected:
    /* What a child does that asks for memory events and calls mmap(); it is ended
     * if it hangs */
    static int take_the_lock()
    {
        alarm(10);
        uct_predreg_ucm_lock_forked();
        ucm_event_enter_exclusive();
        ucm_event_leave();
        ucm_event_enter();
        ucm_event_leave();
        return 0;
    }

    /* The exit status of that child, if another thread has called a function of
     * UCM that takes the lock */
    static int status_beside(const std::function<void()> &enter)
    {
        std::promise<void> entered, done;

        std::thread other([&] {
            enter();
            entered.set_value();
            done.get_future().wait();
            ucm_event_leave();
        });
        entered.get_future().wait();

        child process(take_the_lock);
        int status = process.reap();
        done.set_value();
        other.join();
        return status;
    }
};

TEST_F(test_ucm_lock, a_child_has_it_although_a_thread_was_reading) {
    uct_predreg_ucm_lock_find();
    EXPECT_EQ(0, status_beside(ucm_event_enter));
}

TEST_F(test_ucm_lock, a_child_has_it_although_a_thread_was_writing) {
    uct_predreg_ucm_lock_find();
    EXPECT_EQ(0, status_beside(ucm_event_enter_exclusive));
}

TEST_F(test_ucm_lock, a_child_has_it_if_nobody_had) {
    uct_predreg_ucm_lock_find();
    child process(take_the_lock);
    EXPECT_EQ(0, process.reap());
}

/* Nothing of UCM's is held or changed by looking for it */
TEST_F(test_ucm_lock, the_parent_keeps_it_as_it_was) {
    uct_predreg_ucm_lock_find();
    uct_predreg_ucm_lock_find();
    EXPECT_EQ(0, status_beside(ucm_event_enter));

    child process([]() -> int {
        alarm(10);
        ucm_event_enter_exclusive();
        ucm_event_leave();
        return 0;
    });
    EXPECT_EQ(0, process.reap());
}
