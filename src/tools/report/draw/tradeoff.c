/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#ifdef HAVE_CONFIG_H
#  include "config.h"
#endif

#include "tradeoff.h"
#include "html.h"
#include "plot.h"
#include "units.h"

#include <ucs/sys/math.h>

#include <math.h>
#include <string.h>

/* All lengths are in units of the view box, which is about as wide as a phone,
 * so that its text is as large there as other text. Numbers of the axes are to
 * the left of the points and below them, labels to the right. */
#define WIDTH        360
#define HEIGHT       190
#define PLOT_LEFT    54
#define PLOT_TOP     8
#define PLOT_WIDTH   172
#define PLOT_HEIGHT  146
#define LABEL_LEFT   (PLOT_LEFT + PLOT_WIDTH + 14)
#define LABEL_HEIGHT 13
/* Points of the line that are nearer to each other share a label */
#define TOGETHER     7

/* The axis of times reaches at least to MIN_RIGHT and at most to MAX_RIGHT, and
 * at most so far to the left: a policy that doubles the run time must not press
 * all others into one spot */
#define MIN_RIGHT    0.02
#define MAX_RIGHT    0.06
#define MAX_LEFT     0.02


typedef struct {
    predreg_axis_t axis;
    double         left;  /* Parts of the run time at the edges */
    double         right;
} scale_t;

typedef struct {
    char   text[64];
    double x, y;   /* Of its point */
    double place;  /* Of the middle of its text */
    int    chosen;
} label_t;


static void find_scale(const predreg_mark_t *marks, unsigned num_marks,
                       scale_t *scale)
{
    double peak = 1;
    unsigned i;

    scale->left  = 0;
    scale->right = MIN_RIGHT;
    for (i = 0; i < num_marks; ++i) {
        peak         = ucs_max(peak, ucs_max(marks[i].peak, marks[i].memory));
        scale->left  = ucs_min(scale->left, marks[i].extra);
        scale->right = ucs_max(scale->right, marks[i].extra);
    }

    scale->left  = ucs_max(scale->left, -MAX_LEFT);
    scale->right = ucs_min(scale->right, MAX_RIGHT);
    scale->axis  = predreg_axis_choose(ucs_min(peak, (double)INT64_MAX));
}

static double x_of(const scale_t *scale, double extra)
{
    double part = (extra - scale->left) / (scale->right - scale->left);

    return PLOT_LEFT + PLOT_WIDTH * ucs_max(ucs_min(part, 1.), 0.);
}

static double y_of(const scale_t *scale, double bytes)
{
    return PLOT_TOP + PLOT_HEIGHT * predreg_axis_depth(&scale->axis, bytes);
}

static void write_line(FILE *out, double x1, double y1, double x2, double y2,
                       const char *class_name)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                 "class=\"%s\"/>", x1, y1, x2, y2, class_name);
}

static void write_text(FILE *out, double x, double y, const char *attributes,
                       const char *text)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    predreg_html_text(out, text);
    fputs("</text>\n", out);
}

static void write_axes(FILE *out, const scale_t *scale, double limit)
{
    const double bottom = PLOT_TOP + PLOT_HEIGHT;
    const double step   = (scale->right > 0.03) ? 0.02 : 0.01;
    char text[32];
    double bytes, extra;

    for (bytes = 0; bytes <= scale->axis.top; bytes += scale->axis.step) {
        write_line(out, PLOT_LEFT, y_of(scale, bytes), PLOT_LEFT + PLOT_WIDTH,
                   y_of(scale, bytes), "grid");
        write_text(out, PLOT_LEFT - 5, y_of(scale, bytes) + 4,
                   "text-anchor=\"end\"", PREDREG_BYTES(bytes));
    }

    for (extra = 0; extra <= scale->right + step / 1000; extra += step) {
        snprintf(text, sizeof(text), "%s%.0f %%", (extra > 0) ? "+" : "",
                 100 * extra);
        write_text(out, x_of(scale, extra), bottom + 14,
                   "text-anchor=\"middle\"", text);
    }
    write_line(out, x_of(scale, limit), PLOT_TOP, x_of(scale, limit), bottom,
               "limit");
    write_text(out, PLOT_LEFT + PLOT_WIDTH / 2., bottom + 29,
               "text-anchor=\"middle\"", "run time, beyond leave-pinned");
}

/* Write the line that joins the marks of all budgets. Their height is the
 * average memory or, if is_peak is not 0, the highest */
static void write_path(FILE *out, const scale_t *scale,
                       const predreg_mark_t *marks, unsigned num_marks,
                       int is_peak)
{
    unsigned i;

    fprintf(out, "<path class=\"%s\" d=\"", is_peak ? "peaks" : "averages");
    for (i = 0; (i < num_marks) && marks[i].on_line; ++i) {
        fprintf(out, "%c%.1f %.1f", (i == 0) ? 'M' : 'L',
                x_of(scale, marks[i].extra),
                y_of(scale, is_peak ? marks[i].peak : marks[i].memory));
    }
    fputs("\"/>\n", out);
}

static void write_points(FILE *out, const scale_t *scale,
                         const predreg_mark_t *marks, unsigned num_marks)
{
    const predreg_mark_t *mark;

    for (mark = marks; mark < marks + num_marks; ++mark) {
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" "
                     "class=\"%s\"/>\n", x_of(scale, mark->extra),
                y_of(scale, mark->memory),
                mark->chosen ? 6. : (mark->label == NULL) ? 1.5 : 3.,
                mark->chosen ? "chosen" : mark->on_line ? "on" : "off");
    }
}

/* Let a label begin with the text of a mark, and tell if that is out of the
 * drawing */
static void make_label(const scale_t *scale, const predreg_mark_t *mark,
                       label_t *label)
{
    *label = (label_t){
        .x      = x_of(scale, mark->extra),
        .y      = y_of(scale, mark->memory),
        .chosen = mark->chosen
    };
    if (mark->extra >= 1) {
        snprintf(label->text, sizeof(label->text), "%s %.2g×", mark->label,
                 1 + mark->extra);
    } else if (mark->extra > scale->right) {
        snprintf(label->text, sizeof(label->text), "%s +%.0f %%", mark->label,
                 100 * mark->extra);
    } else {
        snprintf(label->text, sizeof(label->text), "%s", mark->label);
    }
}

/* @return how many points of the line, from the first of these on, are so near
 * to it that they share its label. */
static unsigned count_together(const scale_t *scale,
                               const predreg_mark_t *marks, unsigned num_marks)
{
    unsigned i;

    for (i = 1; (i < num_marks) && marks[i].on_line; ++i) {
        if ((fabs(x_of(scale, marks[i].extra) -
                  x_of(scale, marks[0].extra)) > TOGETHER) ||
            (fabs(y_of(scale, marks[i].memory) -
                  y_of(scale, marks[0].memory)) > TOGETHER)) {
            break;
        }
    }

    return i;
}

/* Make the labels of all marks that have one.
 * @return how many these are. */
static unsigned make_labels(const scale_t *scale, const predreg_mark_t *marks,
                            unsigned num_marks, label_t *labels)
{
    unsigned count = 0;
    unsigned i, k, together;

    for (i = 0; i < num_marks; i += together) {
        together = 1;
        if ((marks[i].label == NULL) ||
            (count == PREDREG_TRADEOFF_MAX_LABELS)) {
            continue;
        }

        if (marks[i].on_line) {
            together = count_together(scale, marks + i, num_marks - i);
        }
        make_label(scale, &marks[i], &labels[count]);
        if (together > 1) {
            snprintf(labels[count].text, sizeof(labels[count].text), "%s – %s",
                     marks[i].label, marks[i + together - 1].label);
        }
        for (k = i; k < i + together; ++k) {
            labels[count].chosen |= marks[k].chosen;
        }
        ++count;
    }

    return count;
}

/* Place the labels at the heights of their points, the highest first, or as
 * near to them as possible if they must not cover each other */
static void place_labels(label_t *labels, unsigned count)
{
    double lowest = PLOT_TOP + PLOT_HEIGHT;
    label_t label;
    unsigned i, k;

    for (i = 1; i < count; ++i) {
        label = labels[i];
        for (k = i; (k > 0) && (labels[k - 1].y > label.y); --k) {
            labels[k] = labels[k - 1];
        }
        labels[k] = label;
    }

    for (i = 0; i < count; ++i) {
        labels[i].place = ucs_max(labels[i].y, PLOT_TOP + 4.);
        if (i > 0) {
            labels[i].place = ucs_max(labels[i].place,
                                      labels[i - 1].place + LABEL_HEIGHT);
        }
    }

    for (i = count; i-- > 0; lowest = labels[i].place - LABEL_HEIGHT) {
        labels[i].place = ucs_min(labels[i].place, lowest);
    }
}

static void write_labels(FILE *out, const label_t *labels, unsigned count)
{
    const label_t *label;

    for (label = labels; label < labels + count; ++label) {
        fprintf(out, "<path class=\"leader\" d=\"M%.1f %.1fL%d %.1f\"/>",
                label->x, label->y, LABEL_LEFT - 3, label->place);
        write_text(out, LABEL_LEFT, label->place + 4,
                   label->chosen ? "class=\"label best\"" : "class=\"label\"",
                   label->text);
    }
}

void predreg_tradeoff_write(FILE *out, const char *label,
                            const predreg_mark_t *marks, unsigned num_marks,
                            double limit)
{
    label_t labels[PREDREG_TRADEOFF_MAX_LABELS];
    unsigned count;
    scale_t scale;

    find_scale(marks, num_marks, &scale);
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH,
            HEIGHT);
    predreg_html_text(out, label);
    fputs("\">\n", out);
    write_axes(out, &scale, limit);
    count = make_labels(&scale, marks, num_marks, labels);
    place_labels(labels, count);
    write_labels(out, labels, count);
    write_path(out, &scale, marks, num_marks, 1);
    write_path(out, &scale, marks, num_marks, 0);
    write_points(out, &scale, marks, num_marks);
    fputs("</svg>\n", out);
}
