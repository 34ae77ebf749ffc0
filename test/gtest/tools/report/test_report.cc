/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include <common/no_memory.h>

extern "C" {
#include <common/c_access.h>
}

#include <gtest/gtest.h>

extern "C" {
#include <tools/report/report.h>
}

#include <cstdlib>
#include <cstring>
#include <regex>
#include <set>
#include <string>
#include <vector>

#define EVIL "<script>alert('\"&1\")</script>"


class test_report : public ::testing::Test {
protected:
    static constexpr uint64_t MB  = 1000000;
    static constexpr uint64_t SEC = 1000000000;

    /* What is handed in of a rank, and outlives only that */
    struct rank {
        std::vector<predreg_step_t>          curve;
        std::vector<predreg_replay_site_t>   sites;
        std::vector<predreg_replay_result_t> results;
        ucs_rcache_trace_meta_t              meta[7];
        ucs_rcache_trace_counter_t           counters[3];
        ucs_rcache_trace_site_t              site;
        ucs_rcache_trace_module_t            module;
        ucs_rcache_trace_t                   trace;
        predreg_timeline_t                   timeline;
        predreg_evidence_t                   evidence;
        std::vector<predreg_replay_result_t> bounds;
    };

    test_report()
    {
        m_report = predreg_report_create();
    }

    ~test_report()
    {
        if (m_report != NULL) {
            predreg_report_destroy(m_report);
        }
    }

    static void fill_trace(rank &r, const char *number)
    {
        memset(&r.site, 0, sizeof(r.site));
        r.site.caller     = 0x100000000001000;
        r.site.stack      = 7;
        r.site.num_frames = 2;
        r.site.frames[0]  = 0x1000;
        r.site.frames[1]  = 0x2000;

        memset(&r.module, 0, sizeof(r.module));
        r.module.start = 0x1800;
        r.module.end   = 0x3000;
        r.module.path  = (char*)"/nowhere/" EVIL;

        r.meta[0] = {(char*)"rank", (char*)number};
        r.meta[1] = {(char*)"command", (char*)EVIL};
        r.meta[2] = {(char*)"host", (char*)EVIL};
        r.meta[3] = {(char*)EVIL, (char*)"\x1b[31m" EVIL};

        memset(&r.trace, 0, sizeof(r.trace));
        r.trace.path        = (char*)"folder/" EVIL ".trace";
        r.trace.meta        = r.meta;
        r.trace.num_meta    = 4;
        r.trace.sites       = &r.site;
        r.trace.num_sites   = 1;
        r.trace.modules     = &r.module;
        r.trace.num_modules = 1;
        r.trace.num_events  = 5000;

        r.counters[0]         = {(char*)"pool_bytes", 66 * MB};
        r.trace.counters      = r.counters;
        r.trace.num_counters  = 1;
    }

    static void fill(rank &r, const char *number = "0")
    {
        fill_trace(r, number);
        r.curve = {{0, 100 * MB}, {1 * SEC, 0}, {2 * SEC, 200 * MB},
                   {100 * SEC, 0}};
        r.sites = {{0x100000000001000, 7, 900, 800, 50, 12345678, 5e9},
                   {0x200000000002000, 8, 100, 0, 0, 0, 1e9}};

        memset(&r.timeline, 0, sizeof(r.timeline));
        r.timeline.num_uses  = 1000;
        r.timeline.duration  = 100 * SEC;
        r.timeline.reg_known = r.timeline.dereg_known = 1;

        memset(&r.evidence, 0, sizeof(r.evidence));
        r.evidence.buffers = 10;
        r.bounds.clear();

        for (unsigned policy = 0; policy < PREDREG_REPLAY_LAST; ++policy) {
            add_result(r, (predreg_replay_policy_t)policy);
        }
    }

    static void add_result(rank &r, predreg_replay_policy_t policy)
    {
        predreg_replay_result_t result;
        uint64_t average = (policy == PREDREG_REPLAY_LEAVE_PINNED) ?
                           198 * MB : (50 + policy) * MB;

        memset(&result, 0, sizeof(result));
        result.policy              = policy;
        result.pinned_avg_bytes    = average;
        result.pinned.byte_seconds = average * 100.;
        result.pinned.peak_bytes   = 200 * MB;
        result.pinned.curve        = r.curve.data();
        result.pinned.num_steps    = r.curve.size();
        result.uses                = 1000;
        result.hits                = 800;
        result.late                = 50;
        result.waited              = 12345678;
        result.duration            = 100 * SEC + result.waited;
        result.prediction_errors[1] = 600;
        result.sites               = r.sites.data();
        result.num_sites           = r.sites.size();
        r.results.push_back(result);
    }

    /* A result with a bound. @return the one under a policy */
    static predreg_replay_result_t &add_bound(rank &r, uint64_t mib,
                                              uint64_t average, uint64_t waited)
    {
        predreg_replay_result_t result = r.results[PREDREG_REPLAY_LRU];

        result.bound_bytes      = mib << 20;
        result.pinned_avg_bytes = average;
        result.waited           = waited;
        result.duration         = 100 * SEC + waited;
        r.bounds.push_back(result);
        return r.bounds.back();
    }

    static predreg_replay_result_t &slow(rank &r,
                                         predreg_replay_policy_t policy,
                                         uint64_t waited)
    {
        r.results[policy].waited   = waited;
        r.results[policy].duration = 100 * SEC + waited;
        return r.results[policy];
    }

    ucs_status_t add(const rank &r)
    {
        predreg_report_rank_t input = {};

        input.trace          = &r.trace;
        input.timeline       = &r.timeline;
        input.evidence       = &r.evidence;
        input.results        = r.results.data();
        input.num_results    = r.results.size();
        input.bounds         = r.bounds.data();
        input.num_bounds     = r.bounds.size();
        input.known_regions  = 8192;
        input.small_costs    = m_small_costs;
        input.eager_fraction = 1;
        return predreg_report_add(m_report, &input);
    }

    /* The page, with its white space as a browser shows it; or its numbers */
    std::string write(bool is_json = false)
    {
        char *text  = NULL;
        size_t size = 0;
        FILE *out   = open_memstream(&text, &size);

        EXPECT_EQ(UCS_OK, predreg_report_write(m_report, is_json, out));
        fclose(out);
        std::string page(text, size);
        free(text);
        page = std::regex_replace(page, std::regex("[ \n]+"), " ");
        return std::regex_replace(page, std::regex("> <"), "><");
    }

    std::string write_one()
    {
        rank r;
        fill(r);
        EXPECT_EQ(UCS_OK, add(r));
        return write();
    }

    static bool contains(const std::string &page, const std::string &text)
    {
        return page.find(text) != std::string::npos;
    }

    /* All elements with this name: from its start tag to its end tag */
    static std::vector<std::string> elements(const std::string &page,
                                             const std::string &name)
    {
        std::vector<std::string> found;
        size_t begin = 0, end;

        while ((begin = page.find("<" + name, begin)) != std::string::npos) {
            char next = page[begin + 1 + name.size()];
            if ((next == ' ') || (next == '>')) {
                end = page.find("</" + name + ">", begin);
                found.push_back(page.substr(begin, end - begin));
            }
            ++begin;
        }
        return found;
    }

    /* The part of a page about small sends, or "" */
    static std::string sends_of(const std::string &page)
    {
        size_t begin = page.find("<section id=\"sends\">");

        return (begin == std::string::npos) ?
               "" : page.substr(begin, page.find("</section>", begin) - begin);
    }

    predreg_report_t *m_report             = NULL;
    const ucs_reuse_costs_t *m_small_costs = NULL;
};

TEST_F(test_report, needs_a_rank)
{
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, predreg_report_write(m_report, 0, stdout));
}

TEST_F(test_report, needs_leave_pinned)
{
    rank r;
    fill(r);
    r.results.erase(r.results.begin() + PREDREG_REPLAY_LEAVE_PINNED);
    EXPECT_EQ(UCS_ERR_INVALID_PARAM, add(r));
}

TEST_F(test_report, full_disk)
{
    FILE *full = fopen("/dev/full", "w");
    rank r;

    ASSERT_TRUE(full != NULL);
    setbuf(full, NULL);
    fill(r);
    ASSERT_EQ(UCS_OK, add(r));
    EXPECT_EQ(UCS_ERR_IO_ERROR, predreg_report_write(m_report, 0, full));
    fclose(full);
}

/* Whatever comes from a trace is text, wherever it is written */
TEST_F(test_report, nothing_in_a_trace_is_markup)
{
    std::string page = write_one();
    std::string text = "&lt;script&gt;alert(&#39;&quot;&amp;1&quot;)&lt;/script"
                       "&gt;";
    unsigned count   = 0;

    /* The page has two of its own, in which nothing is an end */
    EXPECT_EQ(2u, elements(page, "script").size());
    EXPECT_EQ(page.find("</script>", page.find("</script>") + 1),
              page.rfind("</script"));
    EXPECT_EQ(std::string::npos, page.find("alert", page.rfind("<script")));
    EXPECT_FALSE(contains(page, "\x1b"));
    for (size_t i = 0; (i = page.find(text, i)) != std::string::npos; ++i) {
        ++count;
    }
    /* Title, header, command line; host, key, value; module, twice */
    EXPECT_LE(8u, count);
}

TEST_F(test_report, nothing_is_loaded)
{
    std::string page = write_one();

    /* The name of SVG is no address */
    page.replace(page.find("http://www.w3.org/2000/svg"), 5, "");
    for (const char *text : {"http:", "https:", "src=", "href=", "url(",
                             "@import", "javascript", "<link", "<img",
                             "<iframe", "<object", "<embed", "fetch(",
                             "XMLHttpRequest", "import("}) {
        EXPECT_FALSE(contains(page, text)) << text;
    }
    /* Only its own script runs, whatever is taken for markup */
    EXPECT_TRUE(std::regex_search(page, std::regex(
            "content=\"default-src 'none'; style-src 'unsafe-inline'; "
            "script-src 'sha256-[A-Za-z0-9+/]{43}='\"")));
}

TEST_F(test_report, elements_are_nested)
{
    static const std::set<std::string> empty = {"meta", "!DOCTYPE", "br"};
    std::string page = write_one();
    std::vector<std::string> open;

    page = page.substr(0, page.find("<script")) +
           page.substr(page.rfind("</script>") + strlen("</script>"));

    for (size_t i = 0; (i = page.find('<', i)) != std::string::npos; ++i) {
        bool closes      = (page[i + 1] == '/');
        size_t begin     = i + 1 + closes;
        std::string name = page.substr(begin,
                                       page.find_first_of(" >/", begin) -
                                       begin);
        bool is_empty    = page[page.find('>', i) - 1] == '/';

        if (closes) {
            ASSERT_FALSE(open.empty()) << "at " << page.substr(i, 60);
            ASSERT_EQ(open.back(), name) << "at " << page.substr(i, 60);
            open.pop_back();
        } else if (!is_empty && (empty.count(name) == 0)) {
            open.push_back(name);
        }
    }
    EXPECT_TRUE(open.empty());
}

TEST_F(test_report, tables_can_be_heard)
{
    std::string page = write_one();

    EXPECT_EQ(1u, elements(page, "h1").size());
    ASSERT_LE(7u, elements(page, "table").size());
    for (const auto &table : elements(page, "table")) {
        EXPECT_TRUE(contains(table, "<caption>")) << table.substr(0, 80);
        for (const auto &head : elements(table, "th")) {
            EXPECT_TRUE(contains(head, "scope=")) << head;
        }
    }
}

TEST_F(test_report, identifiers_are_unique)
{
    std::string page = write_one();
    std::set<std::string> seen;

    for (size_t i = 0; (i = page.find(" id=\"", i)) != std::string::npos; ++i) {
        size_t begin = i + strlen(" id=\"");
        EXPECT_TRUE(seen.insert(page.substr(begin, page.find('"', begin) -
                                                   begin)).second);
    }
    EXPECT_LE(8u, seen.size());
}

TEST_F(test_report, every_policy_has_a_curve)
{
    EXPECT_EQ((size_t)PREDREG_REPLAY_LAST,
              elements(write_one(), "figure").size());
}

TEST_F(test_report, large_allocations)
{
    rank r;
    fill(r);
    r.results[PREDREG_REPLAY_ARENA].bound_bytes = 0;
    ASSERT_EQ(UCS_OK, add(r));
    EXPECT_FALSE(contains(write(), "Large allocations"));

    rank other;
    fill(other, "1");
    auto &predict    = other.results[PREDREG_REPLAY_PREDICT];
    auto &arena      = other.results[PREDREG_REPLAY_ARENA];
    arena.bound_bytes = 128 << 20;
    arena.uses       = 40;
    arena.answered   = 30;
    arena.waited     = 0;
    predict.waited   = predict.duration / 10;
    other.results[PREDREG_REPLAY_LEAVE_PINNED].waited           = predict.waited;
    other.results[PREDREG_REPLAY_LEAVE_PINNED].pinned_avg_bytes = arena.pinned_avg_bytes;
    ASSERT_EQ(UCS_OK, add(other));
    std::string page = write();
    EXPECT_TRUE(contains(page, "<code>UCX_RCACHE_PRED_ARENA=128M</code> is "
                               "recommended")) << page;
    EXPECT_TRUE(contains(page, "30 of 40 uses would need no registration"));
}

/* What the program would be under another policy is not known, and no figure of one is
 * shown */
TEST_F(test_report, recorded_with_an_arena)
{
    rank r;
    fill(r);
    r.results[PREDREG_REPLAY_ARENA].bound_bytes = 128 << 20;
    r.results[PREDREG_REPLAY_ARENA].uses        = 40;
    r.results[PREDREG_REPLAY_ARENA].answered    = 30;
    r.meta[4]                                   = {(char*)"knob.ARENA", (char*)"128M"};
    r.trace.num_meta                            = 5;
    ASSERT_EQ(UCS_OK, add(r));

    std::string json = write(true), page = write();
    EXPECT_TRUE(contains(json, "\"reason\":\"arena\"")) << json;
    EXPECT_TRUE(contains(json, "\"policies\":{\"arena\":{"));
    EXPECT_FALSE(contains(json, "\"policies\":{\"leave-pinned\""));
    EXPECT_TRUE(contains(page, "only the arena is judged"));
    EXPECT_TRUE(contains(page, "30 of 40 uses needed no registration"));
    for (const char *text : {"ucx_predreg run", "Policies compared", "Budgets compared",
                             "is recommended", "leave UCX as it is"}) {
        EXPECT_FALSE(contains(page, text)) << text;
    }
}

/* The traces tell what processors the job had */
TEST_F(test_report, processors)
{
    rank r;
    fill(r);
    r.meta[4]        = {(char*)"node_ranks", (char*)"2"};
    r.meta[5]        = {(char*)"idle_cpus", (char*)"2"};
    r.trace.num_meta = 6;
    ASSERT_EQ(UCS_OK, add(r));
    EXPECT_TRUE(contains(write(true), "\"processors\":\"idle\""));

    rank other;
    fill(other, "1");
    other.meta[4]        = {(char*)"node_ranks", (char*)"2"};
    other.meta[5]        = {(char*)"idle_cpus", (char*)"1"};
    other.trace.num_meta = 6;
    ASSERT_EQ(UCS_OK, add(other));
    EXPECT_TRUE(contains(write(true), "\"processors\":\"busy\""));

    rank old;
    fill(old, "2");
    ASSERT_EQ(UCS_OK, add(old));
    EXPECT_TRUE(contains(write(true), "\"processors\":null"));
}

TEST_F(test_report, policies_not_played_are_left_out)
{
    rank r;
    fill(r);
    r.results.resize(PREDREG_REPLAY_LEAVE_PINNED + 1);
    ASSERT_EQ(UCS_OK, add(r));

    std::string page = write();
    EXPECT_EQ(4u, elements(page, "figure").size());
    for (const auto &head : elements(page, "th")) {
        EXPECT_FALSE(contains(head, "clairvoyant")) << head;
    }
}

TEST_F(test_report, curves_are_those_of_the_largest_rank)
{
    rank r[3];

    for (unsigned i = 0; i < 3; ++i) {
        fill(r[i], std::to_string(i).c_str());
        r[i].results[PREDREG_REPLAY_LEAVE_PINNED].pinned_avg_bytes +=
                (i == 1) ? 1 : 0;
    }
    for (unsigned i = 0; i < 3; ++i) {
        std::string number = std::to_string(i);
        r[i].meta[0].value = (char*)number.c_str();
        ASSERT_EQ(UCS_OK, add(r[i]));
    }

    std::string page = write();
    EXPECT_TRUE(contains(page, "Of rank 1, the rank with most memory"));
    EXPECT_TRUE(contains(page, "3 ranks"));
    for (const char *name : {"rank 0", "rank 1", "rank 2"}) {
        EXPECT_TRUE(contains(page, std::string("<th scope=\"row\">") + name));
    }
}

TEST_F(test_report, same_places_of_ranks_are_one)
{
    rank r[2];

    for (auto &one : r) {
        fill(one);
        ASSERT_EQ(UCS_OK, add(one));
    }
    /* Two sites; 2 * 900 uses */
    std::string page = write();
    EXPECT_TRUE(contains(page, "The first of 2 call sites"));
    EXPECT_TRUE(contains(page, "<td>1,800</td>"));
}

TEST_F(test_report, missing_names_are_explained)
{
    std::string page = write_one();

    EXPECT_TRUE(contains(page, "script&gt;+0x2000"));
    EXPECT_TRUE(contains(page, "Names of functions are missing"));
}

TEST_F(test_report, program_that_does_nothing)
{
    rank r;

    fill(r);
    r.curve.clear();
    r.sites.clear();
    for (auto &result : r.results) {
        unsigned policy = result.policy;
        memset(&result, 0, sizeof(result));
        result.policy = policy;
    }
    r.timeline.num_uses = 0;
    r.timeline.duration = 0;
    r.trace.num_events  = 0;
    ASSERT_EQ(UCS_OK, add(r));

    std::string page = write();
    EXPECT_TRUE(contains(page, "Nothing was registered for communication"));
    EXPECT_FALSE(std::regex_search(page.substr(0, page.find("<script")),
                                   std::regex("[>\"](nan|inf)\\b")));
    EXPECT_FALSE(std::regex_search(write(true), std::regex(":-?(nan|inf)")));
    EXPECT_TRUE(contains(write(true), "\"lost_part\":0,"));
}

/* Text of the page up to the curves: what is on the first screen */
class test_report_verdict : public test_report {
protected:
    test_report_verdict() { fill(m_rank); }

    std::string verdict()
    {
        EXPECT_EQ(UCS_OK, add(m_rank));
        std::string page = write();
        return page.substr(0, page.find("id=\"curves\""));
    }

    predreg_replay_result_t &result(predreg_replay_policy_t policy)
    {
        return m_rank.results[policy];
    }

    rank m_rank;

    /* Prediction is faster than on-demand, this many of 1000 uses hit, and of
     * the others few come when they are predicted */
    void set_hits(uint64_t hits)
    {
        auto &predict = slow(m_rank, PREDREG_REPLAY_PREDICT, 5 * SEC);

        predict.hits                 = hits;
        predict.late                 = 0;
        predict.prediction_errors[1] = 200;
        slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 10 * SEC);
    }
};

TEST_F(test_report_verdict, run_time_is_in_the_first_table)
{
    slow(m_rank, PREDREG_REPLAY_PREDICT, SEC / 2);
    std::string text = verdict();

    EXPECT_TRUE(contains(text, ">run time<small>waiting</small></th>"));
    EXPECT_TRUE(contains(text, ">100\u00a0s<small>500\u00a0ms</small>"))
            << text;
}

/* The cause of few hits was said to be that the program does not repeat itself,
 * whatever it was */
TEST_F(test_report_verdict, overloaded_helper)
{
    auto &predict = slow(m_rank, PREDREG_REPLAY_PREDICT, 20 * SEC);

    predict.hits   = 100;
    predict.late   = 800;
    predict.helper = 60 * SEC;

    /* In slots of 120 ms */
    predreg_helper_op_t op = {0, 60 * SEC, 1};
    predict.helper_ops     = &op;
    predict.num_helper_ops = 1;
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 80 * SEC);
    std::string text = verdict();
    EXPECT_FALSE(contains(text, "does not repeat itself"));
    EXPECT_TRUE(contains(text, "10.0\u00a0% of the uses find their buffer "
                               "registered: the helper does not keep up. "
                               "Where it has work, it is busy for &gt;\u00a0"
                               "99.9\u00a0% of the time, and 80.0\u00a0% of "
                               "the uses come before")) << text;
}

TEST_F(test_report_verdict, forgotten_regions)
{
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 20 * SEC);
    slow(m_rank, PREDREG_REPLAY_PREDICT, 10 * SEC).hits = 100;
    result(PREDREG_REPLAY_PREDICT).late                 = 0;
    m_rank.evidence.buffers                             = 9000;

    std::string text = verdict();
    EXPECT_FALSE(contains(text, "does not repeat itself"));
    EXPECT_TRUE(contains(text, "10.0\u00a0% of the uses find their buffer "
                               "registered: a rank has 9,000 buffers, and no "
                               "more than 8,192 are remembered.")) << text;
}

/* Rounded up, it would be 2 % */
TEST_F(test_report_verdict, changes_are_not_rounded_up)
{
    slow(m_rank, PREDREG_REPLAY_PREDICT, 12 * SEC / 10);
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 40 * SEC);
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "<h1>Only if memory is short: 74.7\u00a0% less "
                               "registered memory with prediction, "
                               "1.19\u00a0% slower</h1>")) << text;
}

TEST_F(test_report_verdict, irregular)
{
    set_hits(100);
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "10.0\u00a0% of the uses find their buffer "
                               "registered: the program does not repeat itself "
                               "enough, 80.0\u00a0% come at another time"))
            << text;
}

/* It was advised to make the program 468 % slower */
TEST_F(test_report_verdict, too_slow)
{
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 468 * SEC);
    slow(m_rank, PREDREG_REPLAY_PREDICT, 40 * SEC).hits = 100;
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "<h1>No: leave UCX as it is")) << text;
    EXPECT_TRUE(contains(text, "what costs least is prediction, with "
                               "25.3\u00a0% of the memory, and the run would "
                               "take 40.0\u00a0% longer")) << text;
}

/* On-demand has less than what is said to be possible, since it waits */
TEST_F(test_report_verdict, less_than_possible)
{
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 50 * SEC).pinned_avg_bytes = 10 * MB;
    std::string text = verdict();
    EXPECT_FALSE(contains(text, "best possible"));
    EXPECT_TRUE(contains(text, "registered on demand it is 9.54\u00a0MiB, but "
                               "in a run of 150\u00a0s instead of "
                               "100\u00a0s")) << text;
}

TEST_F(test_report_verdict, best_bound)
{
    add_bound(m_rank, 128, 130 * MB, 0);
    add_bound(m_rank, 96, 100 * MB, SEC / 100);
    add_bound(m_rank, 64, 60 * MB, 50 * SEC);
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 50 * SEC);
    slow(m_rank, PREDREG_REPLAY_PREDICT, 50 * SEC);
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "with a bound on UCX’s cache")) << text;
    EXPECT_TRUE(contains(text, "UCX_IB_RCACHE_MAX_SIZE=96M ")) << text;
    EXPECT_TRUE(contains(text, "of 96.0\u00a0MiB"));
    EXPECT_TRUE(contains(write(), "id=\"bounds\""));
}

/* A rank that uses nothing was enough for costs to be called guesses, and who
 * had recorded under on-demand was told to do so */
TEST_F(test_report_verdict, guessed_costs)
{
    rank idle;

    fill(idle, "1");
    idle.timeline.num_uses  = 0;
    idle.timeline.reg_known = idle.timeline.dereg_known = 0;
    EXPECT_EQ(UCS_OK, add(idle));
    std::string text = verdict();
    EXPECT_FALSE(contains(text, "guess")) << text;
}

TEST_F(test_report_verdict, guessed_costs_of_deregistrations)
{
    m_rank.timeline.dereg_known = 0;
    m_rank.meta[4]              = {(char*)"policy", (char*)"on-demand"};
    m_rank.trace.num_meta       = 5;
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "What deregistrations cost is a guess in 1 of 1 "
                               "ranks")) << text;
    EXPECT_TRUE(contains(text, "There was none while the program was recorded, "
                               "under on-demand"));
    EXPECT_FALSE(contains(text, "Record under on-demand"));
}

TEST_F(test_report_verdict, guessed_costs_under_leave_pinned)
{
    m_rank.timeline.dereg_known = 0;
    m_rank.meta[4]              = {(char*)"policy", (char*)"leave-pinned"};
    m_rank.trace.num_meta       = 5;
    EXPECT_TRUE(contains(verdict(), "Record under on-demand"));
}

TEST_F(test_report_verdict, tiny_beside_pools)
{
    m_rank.counters[0].value                                 = 66 << 20;
    result(PREDREG_REPLAY_LEAVE_PINNED).pinned_avg_bytes = 1 * MB;
    EXPECT_TRUE(contains(verdict(), "little beside what UCX registers for "
                                    "itself (66.0\u00a0MiB)"));
}

/* The answer changed at a tenth of what pools usually are, whatever they
 * were */
TEST_F(test_report_verdict, pools_that_are_not_known)
{
    m_rank.trace.num_counters = 0;
    for (auto &one : m_rank.results) {
        one.pinned_avg_bytes /= 100;
        one.pinned.byte_seconds /= 100;
    }
    slow(m_rank, PREDREG_REPLAY_ON_DEMAND, 20 * SEC);
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "<h1>Yes: ")) << text;
    EXPECT_TRUE(contains(text, "What UCX registers for itself was not recorded."
                               " Beside the 66.0\u00a0MiB")) << text;
}

/* None were said to be usual ones */
TEST_F(test_report_verdict, no_pools)
{
    m_rank.counters[0].value = 0;
    for (auto &one : m_rank.results) {
        one.pinned_avg_bytes /= 100;
    }
    EXPECT_FALSE(contains(verdict(), "for itself"));
}

/* Memory that is always in transfers was called windows */
TEST_F(test_report_verdict, in_use_by_transfers)
{
    auto &pinned = result(PREDREG_REPLAY_LEAVE_PINNED).pinned;

    pinned.by_cause[PREDREG_CAUSE_USE] = pinned.byte_seconds;
    m_rank.evidence.in_use             = 100;
    m_rank.evidence.in_long_use        = 50;
    std::string text = verdict();
    EXPECT_FALSE(contains(text, "windows")) << text;

    m_rank.evidence.in_long_use = 152;
    EXPECT_TRUE(contains(verdict(), "windows"));
}

/* Where nearly all uses hit, the few misses do not show that the program does not
 * repeat itself */
TEST_F(test_report_verdict, many_hits)
{
    set_hits(930);
    std::string text = verdict();
    EXPECT_TRUE(contains(text, "Under prediction, 93.0\u00a0% of the uses find "
                               "their buffer registered.")) << text;
    EXPECT_FALSE(contains(text, "does not repeat itself"));
}

/* What deregistrations cost decides times, and is never in a recording under
 * leave-pinned: that belongs to the answer */
TEST_F(test_report_verdict, guess_beside_the_headline)
{
    m_rank.timeline.dereg_known = 0;
    m_rank.meta[4]              = {(char*)"policy", (char*)"leave-pinned"};
    m_rank.trace.num_meta       = 5;
    std::string text = verdict();
    std::string head = text.substr(0, text.find("class=\"command\""));
    EXPECT_TRUE(contains(head, "What deregistrations cost is a guess")) << head;
}

/* A job that was killed was shown as complete */
TEST_F(test_report_verdict, process_that_did_not_end)
{
    rank other;

    fill(other, "1");
    other.meta[4]        = {(char*)"clock_ns", (char*)"1"};
    other.trace.num_meta = 5;
    EXPECT_EQ(UCS_OK, add(other));
    other.trace.num_counters = 0;
    EXPECT_EQ(UCS_OK, add(other));
    EXPECT_TRUE(contains(verdict(), "1 of 3 processes did not come to its "
                                    "end"));
    std::string page = write();
    EXPECT_TRUE(contains(page, "<th scope=\"row\">processes that did not end"
                               "</th><td>1</td>"));
    EXPECT_EQ(1u, page.find("<td>no</td>") != std::string::npos);
}

/* Who writes a trace himself does not write counters */
TEST_F(test_report_verdict, trace_that_was_not_recorded)
{
    m_rank.trace.num_counters = 0;
    EXPECT_FALSE(contains(verdict(), "come to its end"));
    EXPECT_FALSE(contains(write(), "<td>no</td>"));
}

/* Many ranks are summarised: the page does not grow with them */
TEST_F(test_report, many_ranks)
{
    const unsigned count = 1000;
    std::string page;

    for (unsigned i = 0; i < count; ++i) {
        std::string number = std::to_string(i);
        rank r;

        fill(r, number.c_str());
        r.results[PREDREG_REPLAY_PREDICT].waited = (i == 700) ? 2 * SEC : i;
        r.results[PREDREG_REPLAY_LEAVE_PINNED].pinned_avg_bytes +=
                (i == 300) * MB;
        ASSERT_EQ(UCS_OK, add(r));
        if (i == 15) {
            page = write();
        }
    }

    std::string many = write();
    EXPECT_LT(many.size(), page.size() + 2000);
    EXPECT_EQ(std::string::npos, page.find(">median<"));
    for (const char *name : {">least<", ">median<", ">most<", ">rank 300<",
                             ">rank 700<"}) {
        EXPECT_TRUE(contains(many, name)) << name;
    }
    EXPECT_FALSE(contains(many, ">rank 500<"));
    EXPECT_TRUE(contains(many, "Of 1,000 ranks"));
}

/* Ranks may be added in any order, but are listed in that of their numbers */
TEST_F(test_report, ranks_are_sorted)
{
    for (const char *number : {"10", "9", "0"}) {
        rank r;
        fill(r, number);
        ASSERT_EQ(UCS_OK, add(r));
    }
    std::string page = write();
    EXPECT_LT(page.find("<th scope=\"row\">rank 0<"),
              page.find("<th scope=\"row\">rank 9<"));
    EXPECT_LT(page.find("<th scope=\"row\">rank 9<"),
              page.find("<th scope=\"row\">rank 10<"));
}

/* A program of many periods has one of them beside the whole */
TEST_F(test_report, period_beside_the_whole)
{
    rank r;
    fill(r);
    r.evidence.period = 20 * SEC;
    ASSERT_EQ(UCS_OK, add(r));
    EXPECT_TRUE(contains(write(true), "\"zoom_seconds\":0,"));

    r.evidence.period       = SEC / 10;
    r.evidence.period_begin = 50 * SEC;
    r.results[PREDREG_REPLAY_LEAVE_PINNED].pinned_avg_bytes += MB;
    ASSERT_EQ(UCS_OK, add(r));
    EXPECT_TRUE(contains(write(true), "\"period_seconds\":0.1,\"zoom_seconds\""
                                      ":0.1250"));
    EXPECT_TRUE(contains(write(), "nearest to its middle, 100\u00a0ms from one "
                                  "use"));
}

/* If a policy makes the program slower, each curve shows so much more, up to 4
 * times, around the use that was found nearest to the middle */
TEST_F(test_report, period_of_a_slow_policy)
{
    rank r;
    fill(r);
    r.evidence.period       = SEC / 10;
    r.evidence.period_begin = 40 * SEC;
    slow(r, PREDREG_REPLAY_ON_DEMAND, 100 * SEC);
    ASSERT_EQ(UCS_OK, add(r));
    std::string json = write(true);
    EXPECT_TRUE(contains(json, "\"zoom_seconds\":0.25,"));
    EXPECT_TRUE(contains(json, "\"zoom_begin_seconds\":39.9"));
    EXPECT_TRUE(contains(json, "\"zoom_begin_seconds\":79.9"));
}

/* The curve has what is registered at the end of each column that is not as what
 * was before it */
TEST_F(test_report, curve_of_columns)
{
    rank r;
    fill(r);
    for (auto &result : r.results) {
        result.duration = 100 * SEC;
    }
    ASSERT_EQ(UCS_OK, add(r));
    /* A column is 100 ms */
    EXPECT_TRUE(contains(write(true),
                         "\"curve\":[[0,100000000,100000000,100000000],"
                         "[10,0,0,0],[20,200000000,200000000,200000000],"
                         "[999,0,200000000,0]]"));
}

/* What a program reads, in the units that docs/replay.md says */
TEST_F(test_report, json)
{
    rank r;
    fill(r);
    slow(r, PREDREG_REPLAY_PREDICT, SEC / 2);
    slow(r, PREDREG_REPLAY_ON_DEMAND, 50 * SEC);
    ASSERT_EQ(UCS_OK, add(r));

    std::string json = write(true);
    EXPECT_EQ(" ", json.substr(json.size() - 1)); /* A line */
    for (const char *text :
         {"\"num_ranks\":1,", "\"advice\":{\"answer\":\"yes\",\"reason\":\"pays\",",
          "\"best\":{\"setting\":\"predict\",\"budget\":null,",
          "\"policies\":{\"leave-pinned\":{\"policy\":\"leave-pinned\",",
          "\"pinned_avg_bytes\":198000000,\"pinned_peak_bytes\":200000000,",
          "\"critical_path_seconds\":0.5,\"duration_seconds\":100.5,",
          "\"events\":5000,", "\"pool_bytes\":66000000,",
          "\"rank_rows\":[{\"name\":\"rank 0\","}) {
        EXPECT_TRUE(contains(json, text)) << text << " in\n" << json;
    }
    /* The page has the same */
    EXPECT_TRUE(contains(write(), "\"num_ranks\":1,\"advice\":{"));
}

/* The most of a rank, the least limit */
TEST_F(test_report, keys)
{
    rank one, other;

    fill(one);
    ASSERT_EQ(UCS_OK, add(one));
    EXPECT_TRUE(contains(write(true), "\"keys_peak\":null,\"keys_limit\":null,"));
    EXPECT_FALSE(contains(write(), "takes a key of an adapter"));

    fill(other, "1");
    other.counters[1]        = {(char*)"keys_peak", 400};
    other.trace.num_counters = 2;
    ASSERT_EQ(UCS_OK, add(other));
    EXPECT_TRUE(contains(write(true), "\"keys_peak\":400,\"keys_limit\":null,"));
    EXPECT_TRUE(contains(write(), "up to 400 registrations at a time"));
    EXPECT_FALSE(contains(write(), "kept to"));

    fill(other, "2");
    other.counters[1]        = {(char*)"keys_peak", 300};
    other.counters[2]        = {(char*)"keys_limit", 950};
    other.trace.num_counters = 3;
    ASSERT_EQ(UCS_OK, add(other));
    EXPECT_TRUE(contains(write(true), "\"keys_peak\":400,\"keys_limit\":950,"));
    EXPECT_TRUE(contains(write(), "kept to 950 keys"));
}

TEST_F(test_report, out_of_memory)
{
    rank r;

    fill(r);
    EXPECT_GE(end_without_memory([&]() {
        add(r);
        return false;
    }), 5u);
}

TEST_F(test_report, no_section_without_small_sends)
{
    EXPECT_EQ("", sends_of(write_one()));
}

TEST_F(test_report, small_sends_whose_costs_were_not_recorded)
{
    ucs_reuse_sends_t sends[] = {{0x1000, 1600, 3749, 0}, {0x2000, 1560, 1, 1},
                                 {0, 300, 5, 0}};
    rank r;

    fill(r);
    r.trace.sends     = sends;
    r.trace.num_sends = 3;
    ASSERT_EQ(UCS_OK, add(r));

    const std::string page = sends_of(write());
    EXPECT_TRUE(contains(page, "What small sends cost is not in the traces of 1 "
                               "of the 1 ranks")) << page;
    EXPECT_TRUE(contains(page, "5 sends are of buffers"));
    EXPECT_TRUE(contains(page, "1 sends are copied in any case"));
    EXPECT_TRUE(contains(page, "<td>3,749</td><td>1,600</td>")) << page;
    EXPECT_TRUE(contains(page, "not known"));
    EXPECT_FALSE(contains(page, "recommended"));
}

TEST_F(test_report, small_sends_that_would_go_without_the_copy)
{
    ucs_reuse_costs_t costs   = {3000, 0, 64, {}};
    ucs_reuse_sends_t often[] = {{0x1000, 4096, 100, 0}, {0x2000, 300, 1, 0}};
    ucs_reuse_sends_t some[]  = {{0x1000, 4096, 50, 0}};
    rank first, second;

    for (unsigned i = 0; i < UCS_REUSE_NUM_CLASSES; ++i) {
        costs.copy[i] = 0.25 * (i + 1) * UCS_REUSE_STEP;
    }

    m_small_costs = &costs;
    fill(first, "0");
    first.trace.sends     = often;
    first.trace.num_sends = 2;
    ASSERT_EQ(UCS_OK, add(first));
    fill(second, "1");
    second.trace.sends     = some;
    second.trace.num_sends = 1;
    ASSERT_EQ(UCS_OK, add(second));

    const std::string page = sends_of(write());
    EXPECT_TRUE(contains(page, "144 of 151 small sends would go without the "
                               "copy")) << page;
    EXPECT_TRUE(contains(page, "is recommended."));
    EXPECT_FALSE(contains(page, "is not in the traces"));
    EXPECT_TRUE(contains(page, "<td>66.7"));
}
