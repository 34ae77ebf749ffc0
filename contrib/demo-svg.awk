# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Registered user memory over time, a panel for each program, a curve for each
# policy (Figures 2 and 9 of Li et al.), as a self-contained SVG.
#
#   awk -v curves=DIR -v title=TEXT -v subtitle=TEXT -f demo-svg.awk STATS
#
# curves: a folder with files PROGRAM.POLICY of lines "SECONDS MIB".
# STATS: as for demo-table.awk; the first run of each program and policy counts.
#
# Curves differ in the style of their lines, and are labelled at the right end,
# at the height of their average: nothing depends on colour.

# A round number not below x, of which there are few in a range
function round_up(x,    power)
{
    if (x <= 0) {
        return 1
    }
    power = 10 ^ int(log(x) / log(10) - (x < 1))
    if (x <= power)     return power
    if (x <= 2 * power) return 2 * power
    if (x <= 5 * power) return 5 * power
    return 10 * power
}

function escape(text)
{
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    return text
}

function text(x, y, class, anchor, string)
{
    printf "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">%s" \
           "</text>\n", x, y, class, anchor, escape(string)
}

function line(x1, y1, x2, y2, class)
{
    printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" " \
           "class=\"%s\"/>\n", x1, y1, x2, y2, class
}

# Reads a curve into cx, cy; returns the number of points
function read_curve(program, policy,    file, n)
{
    file = curves "/" program "." policy
    n = 0
    while ((getline record < file) > 0) {
        split(record, part, " ")
        cx[n] = part[1]
        cy[n] = part[2]
        ++n
    }
    close(file)
    return n
}

# Sets max_x, max_y over all curves of a program
function find_range(program,    j, k, n)
{
    max_x = max_y = 0
    for (j = 1; j <= num_policies; ++j) {
        n = read_curve(program, policies[j])
        for (k = 0; k < n; ++k) {
            if (cx[k] > max_x) max_x = cx[k]
            if (cy[k] > max_y) max_y = cy[k]
        }
    }
    if (max_x == 0) max_x = 1
    max_y = (max_y == 0) ? 1 : max_y * 1.05
}

function px(x) { return left + (x / max_x) * plot_w }
function py(y) { return top + plot_h - (y / max_y) * plot_h }

function draw_axes(name,    step, v)
{
    text(left, top - 12, "name", "start", name)
    step = round_up(max_y / 5)
    for (v = 0; v <= max_y; v += step) {
        line(left, py(v), left + plot_w, py(v), "grid")
        text(left - 6, py(v) + 4, "tick", "end", v "")
    }
    step = round_up(max_x / 6)
    for (v = 0; v <= max_x; v += step) {
        line(px(v), top + plot_h, px(v), top + plot_h + 4, "axis")
        text(px(v), top + plot_h + 17, "tick", "middle", v "")
    }
    line(left, top, left, top + plot_h, "axis")
    line(left, top + plot_h, left + plot_w, top + plot_h, "axis")
    text(left + plot_w / 2, top + plot_h + 33, "tick", "middle", \
         "time since the first registration (s)")
    printf "<text transform=\"translate(%.1f,%.1f) rotate(-90)\" " \
           "class=\"tick\" text-anchor=\"middle\">registered user memory " \
           "(MiB)</text>\n", left - 40, top + plot_h / 2
}

# Steps; of all points in one half of a pixel, the first, the extremes and the
# last are drawn, so that no peak is lost
function draw_curve(program, policy,    n, k, low, high, end, last, b, bucket)
{
    n = read_curve(program, policy)
    if (n == 0) {
        return
    }
    printf "<path class=\"%s\" d=\"M%.1f %.1f", policy, px(cx[0]), py(cy[0])
    last = cy[0]
    bucket = -1
    for (k = 1; k <= n; ++k) {
        b = (k < n) ? int(px(cx[k]) * 2) : -2
        if (b != bucket) {
            if ((bucket >= 0) && \
                ((low < last) || (high > last) || (end != last))) {
                printf "H%.1f", bucket / 2
                if (low < last) {
                    printf "V%.1f", py(last = low)
                }
                if (high > last) {
                    printf "V%.1f", py(last = high)
                }
                if (end != last) {
                    printf "V%.1f", py(last = end)
                }
            }
            bucket = b
            low = high = cy[k]
        }
        if (k < n) {
            if (cy[k] < low)  low = cy[k]
            if (cy[k] > high) high = cy[k]
            end = cy[k]
        }
    }
    printf "H%.1f\"/>\n", px(cx[n - 1])
}

# Labels at the right, at the averages or as near as they fit
function draw_labels(program,    j, k, n, tmp, y, x)
{
    n = 0
    for (j = 1; j <= num_policies; ++j) {
        if ((program, policies[j]) in average) {
            order[++n] = policies[j]
        }
    }
    # the highest average first
    for (j = 2; j <= n; ++j) {
        for (k = j; k > 1; --k) {
            if (average[program, order[k]] <= \
                average[program, order[k - 1]]) {
                break
            }
            tmp = order[k]
            order[k] = order[k - 1]
            order[k - 1] = tmp
        }
    }
    for (j = 1; j <= n; ++j) {
        y[j] = py(average[program, order[j]])
        if ((j > 1) && (y[j] < y[j - 1] + label_h)) {
            y[j] = y[j - 1] + label_h
        }
    }
    # what was pushed out at the bottom pushes the others up
    for (j = n; j >= 1; --j) {
        k = (j == n) ? top + plot_h - 6 : y[j + 1] - label_h
        if (y[j] > k) {
            y[j] = k
        }
    }
    x = left + plot_w
    for (j = 1; j <= n; ++j) {
        tmp = py(average[program, order[j]])
        printf "<path class=\"leader\" d=\"M%.1f %.1fh5L%.1f %.1f\"/>\n", x, \
               tmp, x + 14, y[j]
        line(x + 16, y[j], x + 46, y[j], order[j])
        text(x + 50, y[j] - 1, "label", "start", order[j])
        text(x + 50, y[j] + 11, "tick", "start", \
             sprintf("average %.2f", average[program, order[j]]))
    }
}

# The first repetition is the one drawn
$3 == 1 {
    average[$1, $2] = $5
    present[$1] = 1
}

END {
    num_programs = split("fig1-reuse fig1-noreuse transpose hpcc", programs, \
                         " ")
    num_policies = split("leave-pinned on-demand predict", policies, " ")
    names["fig1-reuse"] = "Three buffers in turn, reused (fig1)"
    names["fig1-noreuse"] = "Three buffers in turn, new ones each time (fig1)"
    names["transpose"] = "All-to-all transpose (transpose)"
    names["hpcc"] = "HPC Challenge benchmarks (hpcc)"

    plot_w = 390
    plot_h = 190
    panel_w = 610
    panel_h = 280
    label_h = 27

    print "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" " \
           "role=\"img\" font-family=\"sans-serif\">\n", 2 * panel_w + 10, \
           2 * panel_h + 70
    printf "<title>%s</title>\n<desc>", escape(title)
    for (i = 1; i <= num_programs; ++i) {
        for (j = 1; j <= num_policies; ++j) {
            if ((programs[i], policies[j]) in average) {
                printf "%s, %s: average %.2f MiB. ", names[programs[i]], \
                       policies[j], average[programs[i], policies[j]]
            }
        }
    }
    print "</desc>"
    print "<style>" \
          "text{fill:#222}" \
          ".title{font-size:19px;font-weight:bold}" \
          ".name{font-size:14px;font-weight:bold}" \
          ".label{font-size:13px}" \
          ".tick{font-size:11px;fill:#444}" \
          ".axis{stroke:#444;stroke-width:1}" \
          ".grid{stroke:#ddd;stroke-width:1}" \
          ".leader{stroke:#999;stroke-width:.8;fill:none}" \
          ".leave-pinned{stroke:#555;stroke-width:2;stroke-dasharray:9 4;" \
          "fill:none}" \
          ".on-demand{stroke:#c2410c;stroke-width:1.6;" \
          "stroke-dasharray:1.6 2.4;fill:none}" \
          ".predict{stroke:#0b5cad;stroke-width:1.5;fill:none}" \
          "</style>"
    print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    text(14, 28, "title", "start", title)
    text(14, 47, "tick", "start", subtitle)

    for (i = 1; i <= num_programs; ++i) {
        if (!(programs[i] in present)) {
            continue
        }
        left = ((i - 1) % 2) * panel_w + 60
        top = int((i - 1) / 2) * panel_h + 95
        find_range(programs[i])
        print "<g>"
        draw_axes(names[programs[i]])
        for (j = 1; j <= num_policies; ++j) {
            draw_curve(programs[i], policies[j])
        }
        draw_labels(programs[i])
        print "</g>"
    }
    print "</svg>"
}
