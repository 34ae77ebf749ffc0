/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "fh_world.h"

#include <algorithm>

extern "C" {
#include <ucp/firehose/table/local_int.h>
#include <ucp/firehose/table/remote_int.h>
}

/* What must be true in each state of a world, and what makes two states the
 * same */


/* Buckets of a request that it uses now */
static ucp_fh_run_t used_run(const ucp_fh_request_t &request)
{
    ucp_fh_run_t run = request.run;

    run.num = (request.state == UCP_FH_REQUEST_ENDED)   ? 0 :
              (request.state == UCP_FH_REQUEST_WAITING) ? request.num_done :
                                                          run.num;
    return run;
}

static const char *check_entry(const ucp_fh_entry_t *entry, unsigned node,
                               unsigned peer)
{
    unsigned uses = 0;

    for (const fh_thread_t &thread : fh_world->threads) {
        if ((thread.node == node) && (thread.request.peer == entry->peer)) {
            ucp_fh_run_t run = used_run(thread.request);
            uses += ucp_fh_run_has(&run, entry->bucket);
        }
    }
    if (uses != entry->uses) {
        return "an entry has not as many uses as requests use it";
    }

    if ((entry->state != UCP_FH_ENTRY_PRESENT) ||
        fh_world->nodes[peer].is_dead) {
        return nullptr;
    }

    /* The target must know of it, and have it pinned */
    uint64_t key              = (uint64_t)entry->key;
    const fh_handle_t &handle = fh_world->handles[key % FH_HANDLES];

    if (!handle.is_pinned || (handle.number != key) || (handle.node != peer) ||
        (handle.bucket != entry->bucket)) {
        return "a present bucket is not pinned";
    }
    if (ucp_fh_grant_find(&fh_world->nodes[peer].local, node, entry->bucket) ==
        nullptr) {
        return "a present bucket is not held";
    }
    return nullptr;
}

static const char *check_peer(const ucp_fh_peer_t *peer, unsigned node)
{
    unsigned reaped = 0, idle = 0, pending = 0, recalled = 0, all = 0;

    for (unsigned i = 0; i < fh_world->params.buckets; ++i) {
        const ucp_fh_entry_t *entry = ucp_fh_entry_find(peer, FH_FIRST + i);
        const char *error;

        if (entry == nullptr) {
            continue;
        }

        error = check_entry(entry, node, peer->index);
        if (error != nullptr) {
            return error;
        }

        bool is_present = (entry->state == UCP_FH_ENTRY_PRESENT);
        ++all;
        reaped  += is_present && (entry->owner != nullptr);
        idle    += is_present && (entry->owner == nullptr) &&
                   (entry->uses == 0);
        if (is_present && (entry->owner == nullptr) && (entry->uses == 0) &&
            !entry->is_listed) {
            return "an idle bucket is not in the victim FIFO";
        }
        pending  += (entry->state == UCP_FH_ENTRY_PENDING);
        recalled += entry->is_recalled;
    }

    if ((all - reaped > peer->limit) || (all - reaped != peer->used)) {
        return "a node uses more firehoses than it has, or counts others";
    }
    if (idle != peer->num_idle) {
        return "idle buckets are counted wrongly";
    }
    if (pending != peer->num_pending) {
        return "pending buckets are counted wrongly";
    }
    if (recalled != peer->num_recalled) {
        return "recalled buckets are counted wrongly";
    }
    if ((peer->da != nullptr) && (peer->da->state != UCP_FH_REQUEST_WAITING)) {
        return "who has the bit does not wait";
    }
    return nullptr;
}

/* The registrations of all buckets; of a bucket the oldest first */
static std::vector<const ucp_fh_reg_t*> regs_of(const ucp_fh_local_t *local)
{
    std::vector<const ucp_fh_reg_t*> regs;
    ucp_fh_reg_t *reg;

    for (unsigned i = 0; i < fh_world->params.buckets; ++i) {
        ucs_hlist_head_t *head = ucp_fh_regs(local, FH_FIRST + i);
        ucs_hlist_for_each(reg, head, hash) {
            if (reg->bucket == FH_FIRST + i) {
                regs.push_back(reg);
            }
        }
    }
    std::sort(regs.begin(), regs.end(),
              [](const ucp_fh_reg_t *a, const ucp_fh_reg_t *b) {
                  return (a->bucket != b->bucket) ? (a->bucket < b->bucket) :
                                                    (a->number < b->number);
              });
    return regs;
}

static const char *check_reg(const ucp_fh_local_t *local,
                             const ucp_fh_reg_t *reg, unsigned node)
{
    unsigned uses = 0;

    for (const fh_thread_t &thread : fh_world->threads) {
        uses += (thread.node == node) &&
                ((thread.pin.state == UCP_FH_PIN_ACTIVE) ||
                 (thread.pin.state == UCP_FH_PIN_PINNED)) &&
                ucp_fh_run_has(&thread.pin.run, reg->bucket) &&
                (ucp_fh_reg_find(local, reg->bucket, &thread.pin.span) == reg);
    }
    if (uses != reg->uses) {
        return "a bucket has not as many uses as pins use it";
    }
    if (ucp_fh_reg_is_used(reg) && (reg->state == UCP_FH_REG_UNPINNING)) {
        return "a bucket is unpinned that is in use";
    }
    return nullptr;
}

static const char *check_local(const fh_node_t *node)
{
    unsigned index              = node - fh_world->nodes;
    const ucp_fh_local_t *local = &node->local;
    uint64_t num_local          = 0;

    if ((node->pinned > local->max_pinned) ||
        (node->pinned != local->num_pinned)) {
        return "more is pinned than M + MAXVICTIM, or counted wrongly";
    }
    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        if (local->holders[i].num_grants > local->share) {
            return "a peer has more firehoses than its share";
        }
    }
    for (const ucp_fh_reg_t *reg : regs_of(local)) {
        const char *error = check_reg(local, reg, index);
        if (error != nullptr) {
            return error;
        }
        num_local += (reg->uses > 0);
    }
    if ((num_local != local->num_local) || (num_local > local->max_local)) {
        return "local uses are counted wrongly, or too many";
    }
    return nullptr;
}

static const char *check_thread(const fh_thread_t &thread)
{
    bool is_waiting = (thread.request.state == UCP_FH_REQUEST_WAITING) ||
                      (thread.request.state == UCP_FH_REQUEST_ACTIVE);

    if (is_waiting != (thread.state == FH_REQUEST_WAITS)) {
        return "a thread waits for a request that has ended, or the reverse";
    }
    if ((thread.request.state == UCP_FH_REQUEST_GRANTED) !=
        (thread.state == FH_HELD)) {
        return "a thread has not what it was granted";
    }
    for (unsigned i = 0;
         (thread.state == FH_HELD) && (i < thread.request.run.num); ++i) {
        const ucp_fh_entry_t *entry = ucp_fh_entry_find(
                thread.request.peer, thread.request.run.first + i);
        if ((entry == nullptr) || (entry->state != UCP_FH_ENTRY_PRESENT)) {
            return "a bucket that was granted is not present";
        }
    }
    return nullptr;
}

std::string fh_check()
{
    const char *error = fh_world->error;

    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        const fh_node_t *node = &fh_world->nodes[i];

        for (unsigned j = 0; (j < fh_world->params.nodes) && !node->is_dead;
             ++j) {
            error = error ? error : check_peer(&node->remote.peers[j], i);
        }
        if (!node->is_dead) {
            error = error ? error : check_local(node);
        }
    }
    for (unsigned i = 0; i < fh_world->num_threads; ++i) {
        if (!fh_world->nodes[fh_world->threads[i].node].is_dead) {
            error = error ? error : check_thread(fh_world->threads[i]);
        }
    }
    return error ? error : "";
}

std::string fh_check_end()
{
    for (unsigned i = 0; i < fh_world->num_threads; ++i) {
        const fh_thread_t &thread = fh_world->threads[i];

        if (!fh_world->nodes[thread.node].is_dead &&
            ((thread.state != FH_IDLE) || (thread.ops > 0))) {
            return "thread " + std::to_string(i) + " waits for ever";
        }
    }
    for (const fh_message_t &message : fh_world->messages) {
        if ((message.state != FH_NO_MESSAGE) &&
            !fh_world->nodes[message.from].is_dead) {
            return "a message is not answered";
        }
    }
    for (unsigned i = 0; i < fh_world->params.nodes; ++i) {
        const fh_node_t &node = fh_world->nodes[i];

        if (!node.is_dead && (node.is_withdrawing || fh_is_recalling(node))) {
            return "memory does not come back";
        }
    }
    return "";
}

/* States */

class state_t {
public:
    state_t(std::vector<uint8_t> &bytes) : m_bytes(bytes) {}

    void add(uint64_t value) { m_bytes.push_back(value); }

    void add_run(const ucp_fh_run_t &run)
    {
        add(run.first);
        add(run.num);
    }

    void add_request(const ucp_fh_request_t *request)
    {
        add((request == nullptr) ? 255 :
            (const fh_thread_t*)request - fh_world->threads);
    }

    void add_entries(const ucs_list_link_t *list)
    {
        ucp_fh_entry_t *entry;

        ucs_list_for_each(entry, list, link) {
            add(entry->bucket);
        }
        add(255);
    }

    /* In halves of buckets */
    void add_span(const ucp_fh_span_t &span)
    {
        add((span.start >> (FH_SHIFT - 1)) - (2 * FH_FIRST));
        add((span.end >> (FH_SHIFT - 1)) - (2 * FH_FIRST));
    }

    void add_regs(const ucs_list_link_t *list)
    {
        ucp_fh_reg_t *reg;

        ucs_list_for_each(reg, list, link) {
            add_span(reg->span);
        }
        add(254);
    }

    void add_requests(const ucs_list_link_t *list)
    {
        ucp_fh_request_t *request;

        ucs_list_for_each(request, list, link) {
            add_request(request);
            add(request->attempts);
            add(request->num_done);
            if (request->state == UCP_FH_REQUEST_WAITING) {
                add_entries(&request->fresh);
                add_entries(&request->reaped);
            }
        }
        add(253);
    }

    void add_pins(const ucs_list_link_t *list)
    {
        ucp_fh_pin_t *pin;

        ucs_list_for_each(pin, list, link) {
            add(pin->peer);
            add_run(pin->run);
            add_span(pin->span);
            add(pin->passed);
            add(pin->num_done);
        }
        add(252);
    }

    void add_peer(const ucp_fh_peer_t *peer)
    {
        for (unsigned i = 0; i < fh_world->params.buckets; ++i) {
            const ucp_fh_entry_t *entry = ucp_fh_entry_find(peer, FH_FIRST + i);

            add(entry != nullptr);
            if (entry != nullptr) {
                add(entry->state + (8 * entry->is_recalled) +
                    (16 * entry->is_listed) +
                    (32 * (entry->is_listed && entry->is_spared)));
                add(entry->uses);
                add_request(entry->owner);
            }
        }
        add_entries(&peer->fifo);
        add_entries(&peer->to_pin);
        add_entries(&peer->to_unpin);
        add_requests(&peer->waiting);
        add_requests(&peer->active);
        add_request(peer->da);
        add(peer->status);
    }

    void add_local(const ucp_fh_local_t *local)
    {
        for (const ucp_fh_reg_t *reg : regs_of(local)) {
            ucp_fh_grant_t *grant;

            add_span(reg->span);
            add(reg->state + (8 * reg->is_withdrawn) + (16 * reg->is_kept));
            add(reg->uses);
            uint8_t holders = 0;
            ucs_list_for_each(grant, &reg->grants, reg_link) {
                holders |= 1 << grant->peer;
            }
            add(holders);
        }
        add_regs(&local->to_pin);
        add_regs(&local->victims);
        add_regs(&local->doomed);
        add_pins(&local->queue);
        add_pins(&local->active);
        add(local->keeps_victims);
        add(local->is_short);
        add(local->is_refused + (2 * local->is_impatient));
    }

private:
    std::vector<uint8_t> &m_bytes;
};

static void append_messages(state_t &state, unsigned from, unsigned to)
{
    /* In the order of sending */
    std::vector<const fh_message_t*> messages;

    for (const fh_message_t &message : fh_world->messages) {
        if ((message.state != FH_NO_MESSAGE) && (message.from == from) &&
            (message.to == to)) {
            messages.push_back(&message);
        }
    }
    std::sort(messages.begin(), messages.end(),
              [](const fh_message_t *a, const fh_message_t *b) {
                  return a->number < b->number;
              });

    for (const fh_message_t *message : messages) {
        state.add(message->state);
        state.add(message->move->num_unpins);
        state.add(message->move->num_pins);
        for (unsigned i = 0;
             i < message->move->num_unpins + message->move->num_pins; ++i) {
            state.add(message->move->buckets[i]);
        }
        for (unsigned i = 0; (message->state == FH_ANSWERED) &&
                             (i < message->move->num_pins); ++i) {
            state.add(message->answers[i].status);
        }
    }
    state.add(251);
}

void fh_append_state(std::vector<uint8_t> &bytes)
{
    unsigned nodes = fh_world->params.nodes;
    state_t state(bytes);

    for (unsigned i = 0; i < nodes; ++i) {
        const fh_node_t &node = fh_world->nodes[i];

        for (unsigned j = 0; j < nodes; ++j) {
            if (j != i) {
                state.add_peer(&node.remote.peers[j]);
                append_messages(state, i, j);
            }
        }
        state.add_local(&node.local);
        for (unsigned j = 0; j < fh_world->params.workers; ++j) {
            state.add(node.is_working[j]);
            if (node.is_working[j]) {
                state.add_span(node.works[j].reg->span);
                state.add(node.works[j].is_pin);
            }
        }
        state.add(node.is_exposed + (2 * node.is_withdrawing) +
                  (4 * node.is_asked) + (8 * fh_is_recalling(node)));
    }
    for (unsigned i = 0; i < fh_world->num_threads; ++i) {
        const fh_thread_t &thread = fh_world->threads[i];

        state.add(thread.state);
        state.add(thread.ops);
        if (thread.state >= FH_REQUEST_WAITS) {
            state.add(thread.request.peer->index);
            state.add_run(thread.request.run);
        }
        if ((thread.state == FH_PIN_WAITS) || thread.has_pin) {
            state.add_run(thread.pin.run);
        }
    }
    state.add(fh_world->withdraws);
    state.add(fh_world->tries);
}
