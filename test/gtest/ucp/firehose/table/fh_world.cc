/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fh_world.h"

#include <string.h>

fh_world_t *fh_world;


static unsigned index_of(const fh_node_t *node)
{
    return node - fh_world->nodes;
}

static void note_error(const char *error)
{
    if (fh_world->error == nullptr) {
        fh_world->error = error;
    }
}

/* The system that memory is pinned with */

static ucs_status_t
pin_op(fh_node_t *node, uint64_t start, uint64_t length, void **handle_p)
{
    for (fh_handle_t &handle : fh_world->handles) {
        if (!handle.is_pinned) {
            uint64_t index   = &handle - fh_world->handles;
            handle.is_pinned = true;
            handle.number    = index + (FH_HANDLES *
                                        ++fh_world->num_pinned_ever);
            handle.node      = index_of(node);
            handle.bucket    = start >> FH_SHIFT;
            *handle_p        = (void*)handle.number;
            return UCS_OK;
        }
    }

    note_error("too many handles");
    return UCS_ERR_NO_MEMORY;
}

static ucs_status_t unpin_op(void *arg, void *handle_ptr)
{
    uint64_t number     = (uint64_t)handle_ptr;
    fh_handle_t &handle = fh_world->handles[number % FH_HANDLES];

    if (!handle.is_pinned || (handle.number != number)) {
        note_error("a handle is unpinned that is not pinned");
        return UCS_OK;
    }

    handle.is_pinned = false;
    --((fh_node_t*)arg)->pinned;
    return UCS_OK;
}

/* Threads */

static void end_op(fh_thread_t *thread)
{
    thread->state = FH_IDLE;
    if (thread->has_pin) {
        thread->has_pin = false;
        ucp_fh_local_release(&fh_world->nodes[thread->node].local,
                             &thread->pin);
    }
}

static void request_ended(fh_thread_t *thread, ucs_status_t status)
{
    if (thread->state != FH_REQUEST_WAITS) {
        note_error("a request ends that has ended");
    } else if (status == UCS_OK) {
        thread->state = FH_HELD;
        ++fh_world->num_ok;
    } else {
        ++fh_world->num_errors;
        end_op(thread);
    }
}

static void on_request(ucp_fh_comp_t *comp)
{
    request_ended((fh_thread_t*)comp, comp->status);
}

static void pin_ended(fh_thread_t *thread, ucs_status_t status)
{
    if (thread->state != FH_PIN_WAITS) {
        note_error("a pin ends that has ended");
    } else if (status == UCS_OK) {
        thread->has_pin = true;
        thread->state   = FH_PINNED;
        ++fh_world->num_ok;
    } else {
        ++fh_world->num_errors;
        end_op(thread);
    }
}

static void on_pin(ucp_fh_comp_t *comp)
{
    pin_ended((fh_thread_t*)((char*)comp - offsetof(fh_thread_t, pin)),
              comp->status);
}

/* Messages */

static void send_move(fh_node_t *node, ucp_fh_move_t *move)
{
    for (fh_message_t &message : fh_world->messages) {
        if (message.state == FH_NO_MESSAGE) {
            message        = {};
            message.state  = FH_SENT;
            message.from   = index_of(node);
            message.to     = move->peer;
            message.number = fh_world->next_number++;
            message.move   = move;
            return;
        }
    }

    note_error("too many messages");
}

static void answer(fh_message_t *message, ucs_status_t status)
{
    const ucp_fh_local_t *local = &fh_world->nodes[message->to].local;

    if (fh_world->nodes[message->to].knows[message->from]) {
        free(message->serve);
        message->state = FH_NO_MESSAGE; /* There is nobody to be answered */
        return;
    }

    if (status != UCS_OK) {
        note_error("a message is turned down");
    }

    message->state   = FH_ANSWERED;
    message->status  = status;
    message->answers = (ucp_fh_answer_t*)
            calloc(message->serve->num_pins + 1, sizeof(ucp_fh_answer_t));
    for (unsigned i = 0; i < message->serve->num_pins; ++i) {
        const ucp_fh_reg_t *reg = ucp_fh_serve_reg(local, message->serve, i);

        message->answers[i] = {message->serve->pins[i].comp.status,
                               (reg == nullptr) ? nullptr : reg->handle};
        if ((reg == nullptr) && (message->answers[i].status == UCS_OK)) {
            note_error("a peer is told of what it does not have");
        }
    }
    free(message->serve);
    message->serve = nullptr;
}

static void on_serve(ucp_fh_comp_t *comp)
{
    for (fh_message_t &message : fh_world->messages) {
        if ((message.state == FH_SERVED) &&
            (message.serve == (ucp_fh_serve_t*)comp)) {
            answer(&message, comp->status);
            return;
        }
    }

    note_error("a message is answered that was answered");
}

static void deliver(fh_message_t *message)
{
    fh_node_t *node           = &fh_world->nodes[message->to];
    const ucp_fh_move_t *move = message->move;
    ucs_status_t status;

    message->state = FH_SERVED;
    message->serve = ucp_fh_serve_make(message->from, move->buckets,
                                       move->num_unpins,
                                       move->buckets + move->num_unpins,
                                       move->num_pins);
    message->serve->comp.func = on_serve;
    status = ucp_fh_local_serve(&node->local, message->serve);
    if (status != UCS_INPROGRESS) {
        answer(message, status);
    }
}

static void handle_answer(fh_message_t *message, ucs_status_t status)
{
    fh_node_t *node   = &fh_world->nodes[message->from];
    unsigned num_pins = message->move->num_pins;
    ucs_status_t accepted;

    accepted = ucp_fh_remote_moved(&node->remote, message->move, status,
                                   message->answers);
    for (unsigned i = 0; (accepted == UCS_OK) && (status == UCS_OK) &&
                         (i < num_pins); ++i) {
        fh_world->num_keys += (message->answers[i].status == UCS_OK);
    }
    free(message->answers);
    message->state = FH_NO_MESSAGE;
}

/* Memory that goes away */

static void on_withdraw(ucp_fh_comp_t *comp)
{
    fh_node_t *node = (fh_node_t*)((char*)comp - offsetof(fh_node_t, withdraw));

    if (!node->is_withdrawing) {
        note_error("a withdrawal ends that has ended");
    }
    node->is_withdrawing = false;
}

static void withdraw(fh_node_t *node)
{
    ucp_fh_span_t span = node->exposed.span;
    uint32_t peer;

    --fh_world->withdraws;
    node->is_exposed         = false;
    node->withdraw.comp.func = on_withdraw;
    ucp_fh_local_conceal(&node->local, &node->exposed);
    node->is_withdrawing     = ucp_fh_local_withdraw(&node->local,
                                                     &node->withdraw, &span) ==
                               UCS_INPROGRESS;
    while ((peer = ucp_fh_local_next_holder(&node->local)) != UCP_FH_LOCAL) {
        fh_world->nodes[peer].is_asked = true;
    }
}

static void expose(fh_node_t *node)
{
    ucp_fh_run_t run   = {FH_FIRST, fh_world->params.buckets};
    ucp_fh_span_t span = ucp_fh_span_of(node->local.params.shift, &run);

    if (fh_world->params.has_edge) {
        /* Half of the first bucket */
        span.start += 1ul << (node->local.params.shift - 1);
    }
    if (ucp_fh_local_expose(&node->local, &node->exposed, &span) != UCS_OK) {
        note_error("memory cannot be exposed that was withdrawn");
    }
    node->is_exposed = true;
}

static void recall(fh_node_t *node)
{
    node->is_asked = false;
    ucp_fh_remote_recall(&node->remote, 1,
                         &fh_world->nodes[1].withdraw.place.run);
}

bool fh_is_recalling(const fh_node_t &node)
{
    return !node.is_dead && (node.remote.peers[1].num_recalled > 0);
}

/* Nodes */

static void drain(fh_node_t *node)
{
    ucp_fh_comp_t *comp;
    ucp_fh_move_t *move;

    if (node->is_dead) {
        return;
    }

    while (((comp = ucp_fh_comp_next(&node->remote.ended)) != nullptr) ||
           ((comp = ucp_fh_comp_next(&node->local.ended)) != nullptr)) {
        comp->func(comp);
    }
    while ((move = ucp_fh_remote_next_move(&node->remote)) != nullptr) {
        send_move(node, move);
    }
    while (ucp_fh_remote_next_key(&node->remote) != nullptr) {
        --fh_world->num_keys;
    }
}

static bool make_node(fh_node_t *node)
{
    const fh_params_t &params           = fh_world->params;
    ucp_fh_remote_params_t remote_params = {params.nodes, params.max_move,
                                            params.da_limit};
    ucp_fh_local_params_t local_params   = {};

    /* Each node has as many holders as there are nodes; that of itself is not
     * used, but has its share */
    local_params.shift      = FH_SHIFT;
    local_params.num_peers  = params.nodes;
    local_params.m          = (uint64_t)(params.share * params.nodes) << FH_SHIFT;
    local_params.max_victim = (uint64_t)params.max_victim << FH_SHIFT;
    if ((ucp_fh_remote_init(&node->remote, &remote_params) != UCS_OK) ||
        (ucp_fh_local_init(&node->local, &local_params) != UCS_OK)) {
        return false;
    }

    /* What there is not is not granted: M is as small as can be */
    node->local.max_pinned -= params.share;
    for (unsigned i = 0; i < params.nodes; ++i) {
        node->remote.peers[i].limit = node->local.share;
    }
    expose(node);
    return true;
}

bool fh_make(const fh_params_t &params)
{
    fh_world            = (fh_world_t*)calloc(1, sizeof(*fh_world));
    fh_world->params    = params;
    fh_world->withdraws = params.withdraws;
    fh_world->tries     = params.tries;
    for (unsigned i = 0; i < params.nodes; ++i) {
        if (!make_node(&fh_world->nodes[i])) {
            return false;
        }
        for (unsigned j = 0; j < params.threads[i]; ++j) {
            fh_thread_t *thread = &fh_world->threads[fh_world->num_threads++];

            thread->node              = i;
            thread->ops               = params.ops;
            thread->request.comp.func = on_request;
            thread->pin.comp.func     = on_pin;
        }
    }
    return true;
}

static void destroy_key(void *arg, void *key)
{
    --fh_world->num_keys;
}

void fh_cleanup()
{
    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        fh_node_t *node      = &fh_world->nodes[i];
        ucp_fh_pin_ops_t ops = {};

        if (!node->is_dead) {
            ops.unpin = unpin_op;
            ops.arg   = node;
            ucp_fh_remote_cleanup(&node->remote, destroy_key, nullptr);
            ucp_fh_local_cleanup(&node->local, &ops);
            EXPECT_EQ(0u, node->pinned);
        }
    }
    EXPECT_STREQ(nullptr, fh_world->error);
    free(fh_world);
    fh_world = nullptr;
}

/* Steps */

static void add_runs(std::vector<fh_step_t> &steps, fh_step_kind_t kind,
                     unsigned who, unsigned peer, unsigned max_run)
{
    for (unsigned num = 1; num <= max_run; ++num) {
        for (unsigned i = 0; i + num <= fh_world->params.buckets; ++i) {
            steps.push_back({kind, who, peer, i, num, false});
        }
    }
}

static void add_acquire(std::vector<fh_step_t> &steps, unsigned index)
{
    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        if (i != fh_world->threads[index].node) {
            add_runs(steps, FH_STEP_ACQUIRE, index, i,
                     fh_world->params.max_run);
        }
    }
}

static void add_thread_steps(std::vector<fh_step_t> &steps, unsigned index)
{
    const fh_params_t &params = fh_world->params;
    const fh_thread_t &thread = fh_world->threads[index];

    if (fh_world->nodes[thread.node].is_dead) {
        return;
    }

    if ((thread.state == FH_IDLE) && (thread.ops > 0)) {
        if (params.program == FH_REMOTE) {
            add_acquire(steps, index);
        } else {
            add_runs(steps, FH_STEP_PIN, index, 0,
                     std::min(params.max_run, params.max_victim));
        }
    } else if ((thread.state == FH_PINNED) && (params.program == FH_BOTH)) {
        add_acquire(steps, index);
    } else if ((thread.state == FH_PINNED) || (thread.state == FH_HELD)) {
        steps.push_back({FH_STEP_RELEASE, index});
    }
}

/* Whether it is the next one on its way from one node to another */
static bool is_next(const fh_message_t &message)
{
    for (const fh_message_t &other : fh_world->messages) {
        if ((other.state == FH_SENT) && (other.from == message.from) &&
            (other.to == message.to) && (other.number < message.number)) {
            return false;
        }
    }
    return true;
}

static void add_message_steps(std::vector<fh_step_t> &steps, unsigned index)
{
    const fh_message_t &message = fh_world->messages[index];

    if ((message.state == FH_SENT) && is_next(message) &&
        !fh_world->nodes[message.to].is_dead) {
        steps.push_back({FH_STEP_DELIVER, index});
    } else if ((message.state == FH_ANSWERED) &&
               !fh_world->nodes[message.from].is_dead) {
        steps.push_back({FH_STEP_ANSWER, index});
    }
}

static bool has_doomed(ucp_fh_local_t *local)
{
    ucp_fh_reg_t *reg;

    ucs_list_for_each(reg, &local->doomed, link) {
        if (!reg->is_kept) {
            return true;
        }
    }
    return false;
}

/* Whether ucp_fh_local_next_work() would have something */
static bool has_work(fh_node_t *node)
{
    ucp_fh_local_t *local = &node->local;

    if (has_doomed(local) ||
        ((local->num_victims > local->max_local) && !local->keeps_victims)) {
        return true;
    }
    if (ucs_list_is_empty(&local->to_pin)) {
        return false;
    }
    if (local->is_refused && (local->num_victims == 0)) {
        return false;
    }
    if (local->is_short && (local->num_unpinning > 0)) {
        return false;
    }
    if (local->is_short && (local->num_victims > 0)) {
        return true;
    }

    return (local->num_pinned < local->max_pinned) ||
           ((local->num_unpinning == 0) &&
            (!ucs_list_is_empty(&local->victims) ||
             !ucs_list_is_empty(&local->doomed)));
}

static void add_node_steps(std::vector<fh_step_t> &steps, unsigned index)
{
    fh_node_t *node = &fh_world->nodes[index];

    if (node->is_dead) {
        return;
    }

    for (unsigned i = 0; i < fh_world->params.workers; ++i) {
        if (node->is_working[i]) {
            steps.push_back({FH_STEP_DONE, index, i, 0, 0, false});
            if (fh_world->params.fails) {
                steps.push_back({FH_STEP_DONE, index, i, 0, 0, true});
            }
        } else if (has_work(node)) {
            steps.push_back({FH_STEP_WORK, index, i});
        }
    }

    if (node->local.is_refused) {
        steps.push_back({FH_STEP_AGAIN, index, 1});
        if (fh_world->tries > 0) {
            steps.push_back({FH_STEP_AGAIN, index, 0});
        }
    }
    if ((index == 1) && node->is_exposed && (fh_world->withdraws > 0)) {
        steps.push_back({FH_STEP_WITHDRAW, index});
    }
    if (!node->is_exposed && !node->is_withdrawing) {
        steps.push_back({FH_STEP_EXPOSE, index});
    }
    if (node->is_asked && !fh_is_recalling(*node)) {
        steps.push_back({FH_STEP_RECALL, index});
    }

    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        if (fh_world->nodes[i].is_dead && !node->knows[i]) {
            steps.push_back({FH_STEP_NOTICE, index, i});
        }
    }
}

std::vector<fh_step_t> fh_steps()
{
    std::vector<fh_step_t> steps;

    for (unsigned i = 0; i < fh_world->num_threads; ++i) {
        add_thread_steps(steps, i);
    }
    for (unsigned i = 0; i < FH_MESSAGES; ++i) {
        add_message_steps(steps, i);
    }
    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        add_node_steps(steps, i);
    }
    return steps;
}

std::string fh_text(const fh_step_t &step)
{
    static const char *names[] = {"pin", "acquire", "release", "deliver",
                                  "answer", "work", "done", "again",
                                  "withdraw", "expose", "recall", "kill",
                                  "notice"};
    std::string text = names[step.kind];

    text += " " + std::to_string(step.who) + " " + std::to_string(step.peer);
    if (step.num > 0) {
        text += " [" + std::to_string(step.first) + "+" +
                std::to_string(step.num) + "]";
    }
    return text + (step.fails ? " fails" : "");
}

static fh_node_t *take_thread(const fh_step_t &step)
{
    fh_thread_t *thread = &fh_world->threads[step.who];
    fh_node_t *node     = &fh_world->nodes[thread->node];
    ucp_fh_run_t run    = {FH_FIRST + step.first, step.num};
    ucp_fh_span_t span  = ucp_fh_span_of(node->local.params.shift, &run);
    ucs_status_t status;

    if (step.kind == FH_STEP_PIN) {
        --thread->ops;
        thread->state = FH_PIN_WAITS;
        status        = ucp_fh_local_pin(&node->local, &thread->pin, &span, UCP_FH_FORM_WAIT);
        if (status != UCS_INPROGRESS) {
            pin_ended(thread, status);
        }
    } else if (step.kind == FH_STEP_ACQUIRE) {
        thread->ops  -= (fh_world->params.program == FH_REMOTE);
        thread->state = FH_REQUEST_WAITS;
        status        = ucp_fh_remote_acquire(&node->remote, &thread->request,
                                              step.peer, &run);
        if (status != UCS_INPROGRESS) {
            request_ended(thread, status);
        }
    } else {
        if (thread->state == FH_HELD) {
            ucp_fh_remote_release(&node->remote, &thread->request);
        }
        end_op(thread);
    }
    return node;
}

static void take_work(fh_node_t *node, unsigned worker)
{
    ucp_fh_work_t *work = &node->works[worker];

    if (!ucp_fh_local_next_work(&node->local, work)) {
        note_error("there is no work although there should be");
        return;
    }

    node->is_working[worker] = true;
    node->pinned += work->is_pin;
}

static void end_work(fh_node_t *node, unsigned worker, bool fails)
{
    ucp_fh_work_t *work = &node->works[worker];
    ucp_fh_pin_ops_t ops;

    ops.pin   = [](void *arg, uint64_t start, uint64_t length, void **handle) {
        return pin_op((fh_node_t*)arg, start, length, handle);
    };
    ops.unpin = unpin_op;
    ops.arg   = node;

    node->is_working[worker] = false;
    if (!fails) {
        ucp_fh_work_do(work, &ops);
    } else {
        work->status  = work->is_pin ? fh_world->params.error :
                                       UCS_ERR_IO_ERROR;
        node->pinned -= work->is_pin;
    }
    ucp_fh_local_work_done(&node->local, work);
}

static void notice(fh_node_t *node, unsigned dead)
{
    unsigned index = index_of(node);

    node->knows[dead] = true;
    ucp_fh_remote_fail_peer(&node->remote, dead, UCS_ERR_CONNECTION_RESET);
    ucp_fh_local_fail_peer(&node->local, dead);
    if (dead == 1) {
        node->is_asked = false;
    }

    for (fh_message_t &message : fh_world->messages) {
        if ((message.from == index) && (message.to == dead) &&
            (message.state != FH_NO_MESSAGE)) {
            handle_answer(&message, UCS_ERR_CONNECTION_RESET);
        } else if ((message.from == dead) && (message.to == index) &&
                   (message.state != FH_SERVED)) {
            message.state = FH_NO_MESSAGE;
        }
    }
}

static void kill(unsigned index)
{
    fh_node_t *node = &fh_world->nodes[index];

    node->is_dead  = true;
    node->is_asked = false;
}

void fh_take(const fh_step_t &step)
{
    fh_node_t *node = &fh_world->nodes[step.who % FH_NODES];

    switch (step.kind) {
    case FH_STEP_PIN:
    case FH_STEP_ACQUIRE:
    case FH_STEP_RELEASE:
        node = take_thread(step);
        break;
    case FH_STEP_DELIVER:
        node = &fh_world->nodes[fh_world->messages[step.who].to];
        deliver(&fh_world->messages[step.who]);
        break;
    case FH_STEP_ANSWER:
        node = &fh_world->nodes[fh_world->messages[step.who].from];
        handle_answer(&fh_world->messages[step.who],
                      fh_world->messages[step.who].status);
        break;
    case FH_STEP_WORK:
        take_work(node, step.peer);
        break;
    case FH_STEP_DONE:
        end_work(node, step.peer, step.fails);
        break;
    case FH_STEP_AGAIN:
        fh_world->tries -= (step.peer == 0);
        ucp_fh_local_try_again(&node->local, step.peer);
        break;
    case FH_STEP_WITHDRAW:
        withdraw(node);
        break;
    case FH_STEP_EXPOSE:
        expose(node);
        break;
    case FH_STEP_RECALL:
        recall(node);
        break;
    case FH_STEP_KILL:
        kill(step.who);
        break;
    case FH_STEP_NOTICE:
        notice(node, step.peer);
        break;
    }
    drain(node);
}
