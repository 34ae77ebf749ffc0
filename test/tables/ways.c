/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "picture.h"
#include "ways.h"
#include "series.h"
#include "tables.h"

#include <tools/report/page/units.h>

#include <ucs/sys/math.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 256

/* Lengths of the picture are in the units of its view box */
#define HEAD       64
#define ROW_HEIGHT 62
#define BAR_HEIGHT 14
#define BAR_LEFT   560
#define BAR_WIDTH  480  /* Of the larger bar of a pair */
#define WIDTH      1240

enum {
    STOCK,
    OURS,
    NUM_VARIANTS
};

/* Names in the file */
static const char *variants[NUM_VARIANTS] = {"stock", "ours"};

/* What is measured; ns is how many ns a time of the file has, 0: bytes */
static const struct {
    const char *way;
    const char *measure;
    const char *title;
    const char *text;
    double     ns;
} measures[] = {
    {"idle", "pinned", "Prediction beside an idle processor",
     "memory pinned on average, fig1 --compute 20, one rank", 0},
    {"idle", "time", "", "its run time", 1e9},
    {"limit", "pinned", "A limit of 45 MB on locked memory",
     "memory pinned at most, manybuf: 12 buffers of 8 MiB a rank", 0},
    {"arena", "time", "Messages from new memory, ARENA=256M",
     "an exchange of 2 MiB, temporaries: a buffer from malloc() for each", 1e3},
    {"firehose", "pinned", "A window, WINDOWS=firehose",
     "memory pinned at most, winputs: puts to 8 MiB of 256 MiB", 0},
    {"firehose", "time", "", "a put of 64 KiB, with its part of a flush", 1e3},
    {"eager", "time", "Small sends from the same buffers, EAGER=y",
     "the processor's time for a send of 8000 bytes, smallsends", 1}
};

#define NUM_MEASURES ucs_static_array_size(measures)

struct ways {
    series_t values[NUM_MEASURES][NUM_VARIANTS];
    char     text[NUM_MEASURES][NUM_VARIANTS][TEXT_MAX]; /* Why the run has ended early:
                                                            what it said */
};


/* Add a line of the file. @return whether it is one that the script writes */
static int add_line(ways_t *ways, const char *line)
{
    char text[TEXT_MAX] = "";
    char way[16], measure[16], variant[16], value[32];
    unsigned i, j;

    if (sscanf(line, "%15s %15s %15s %31s %255[^\n]", way, measure, variant, value,
               text) < 4) {
        return 0;
    }

    for (i = 0; i < NUM_MEASURES; ++i) {
        for (j = 0; j < NUM_VARIANTS; ++j) {
            if (!strcmp(way, measures[i].way) && !strcmp(variant, variants[j]) &&
                !strcmp(measure, measures[i].measure)) {
                series_add(&ways->values[i][j],
                           atof(value) * (measures[i].ns ? measures[i].ns : 1));
                text[strcspn(text, ".")] = '\0'; /* Advice follows */
                strcpy(ways->text[i][j], text);
                return 1;
            }
        }
    }
    return 0;
}

ways_t *ways_load(const char *dir)
{
    ways_t *ways = calloc(1, sizeof(*ways));
    char path[4096], line[1024];
    FILE *file;

    snprintf(path, sizeof(path), "%s/systems", dir);
    file = fopen(path, "r");
    if ((ways == NULL) || (file == NULL)) {
        fprintf(stderr, "tables: %s: %s\n", path, strerror(errno));
        exit(2);
    }

    while (fgets(line, sizeof(line), file) != NULL) {
        if (!add_line(ways, line)) {
            fprintf(stderr, "tables: %s: not a way and measure: %s", path, line);
            exit(2);
        }
    }
    fclose(file);
    return ways;
}

void ways_free(ways_t *ways)
{
    free(ways);
}

/* A value as people read it, or why there is none */
static const char *value_str(const ways_t *ways, unsigned i, unsigned j, char *buf)
{
    double value = series_median(&ways->values[i][j]);

    if (isnan(value)) {
        return (ways->text[i][j][0] != '\0') ? ways->text[i][j] : "-";
    }

    return measures[i].ns ? predreg_time_str(value, buf) : predreg_bytes_str(value, buf);
}

/* Whether there is something to show of a measure */
static int is_known(const ways_t *ways, unsigned i)
{
    return ways->values[i][OURS].num > 0;
}

void ways_table(const ways_t *ways, FILE *out)
{
    char bufs[NUM_VARIANTS][PREDREG_UNITS_MAX];
    unsigned i;

    fprintf(out, "| what | measured | stock UCX | with the library | of stock's |\n"
                 "|---|---|--:|--:|--:|\n");
    for (i = 0; i < NUM_MEASURES; ++i) {
        if (is_known(ways, i)) {
            fprintf(out, "| %s | %s | %s | %s | %s |\n", measures[i].title,
                    measures[i].text, value_str(ways, i, STOCK, bufs[STOCK]),
                    value_str(ways, i, OURS, bufs[OURS]),
                    number("%.2f", ratio(series_median(&ways->values[i][OURS]),
                                         series_median(&ways->values[i][STOCK]))));
        }
    }
}

/* A bar as long as its part of the larger one, or the text why there is none */
static void write_bar(const ways_t *ways, unsigned i, unsigned j, double top, FILE *out)
{
    double value = series_median(&ways->values[i][j]);
    double most  = fmax(series_median(&ways->values[i][STOCK]),
                        series_median(&ways->values[i][OURS]));
    double width = isnan(value) ? 0 : (BAR_WIDTH * value / most);
    char buf[PREDREG_UNITS_MAX];

    predreg_picture_text(out, BAR_LEFT - 10, top + 12, "tick", "end",
                         (j == STOCK) ? "stock UCX" : "with the library");
    fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" "
                 "class=\"bar%u\"/>\n", BAR_LEFT, top, width, BAR_HEIGHT, j);
    predreg_picture_text(out, BAR_LEFT + width + 8, top + 12, "tick", "start",
                         value_str(ways, i, j, buf));
}

void ways_picture(const ways_t *ways, const char *subtitle, FILE *out)
{
    unsigned count = 0, i, j;
    double top     = HEAD;

    for (i = 0; i < NUM_MEASURES; ++i) {
        count += is_known(ways, i);
    }

    predreg_picture_begin(out, "Ways in which the library helps, beside stock UCX",
                          subtitle, WIDTH, HEAD + (count * ROW_HEIGHT));
    for (i = 0; i < NUM_MEASURES; ++i) {
        if (!is_known(ways, i)) {
            continue;
        }

        predreg_picture_text(out, 14, top + 12, "name", "start", measures[i].title);
        predreg_picture_text(out, 14, top + 29, "tick", "start", measures[i].text);
        for (j = 0; j < NUM_VARIANTS; ++j) {
            write_bar(ways, i, j, top + (j * (BAR_HEIGHT + 4)), out);
        }
        top += ROW_HEIGHT;
    }
    fputs("</svg>\n", out);
}
