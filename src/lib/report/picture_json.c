/*
 * picture_json.c - a picture as the members of a JSON object, for the page (doc/schema/page.json).
 */
#include "report/picture.h"

static void lines_json(json_writer *w, const picture *p, const picture_box *k)
{
    jw_member_array(w, "lines");
    for (uint32_t i = 0; i < k->n; i++) {
        const picture_line *l = &p->lines.at[k->first + i];
        jw_array(w);
        jw_text(w, l->text);
        if (l->aside) jw_bool(w, true);
        jw_end_array(w);
    }
    jw_end_array(w);
}

static void place_json(json_writer *w, double x, double y, double width, double height)
{
    jw_member_array(w, "at");
    jw_decimal(w, x, 1);
    jw_decimal(w, y, 1);
    jw_decimal(w, width, 1);
    jw_decimal(w, height, 1);
    jw_end_array(w);
}

static void box_json(json_writer *w, const picture *p, const picture_box *k)
{
    static const char *const status[] = {"committed", "aborted", "unknown"};
    jw_object(w);
    jw_member_text(w, "name", k->name);
    jw_member_optional(w, "node", k->place);
    jw_member_text(w, "status", status[k->status]);
    jw_member_bool(w, "core", k->matters);
    place_json(w, k->x, k->y, k->w, k->h);
    lines_json(w, p, k);
    if (k->hidden) jw_member_u64(w, "hidden", k->hidden);
    jw_end_object(w);
}

static void edge_json(json_writer *w, const picture *p, const picture_edge *d)
{
    jw_object(w);
    jw_member_u64(w, "from", d->from);
    jw_member_u64(w, "to", d->to);
    jw_member_text(w, "kind", picture_edge_name(d->kind));
    jw_member_text(w, "label", d->label);
    jw_member_bool(w, "inferred", d->inferred);
    jw_member_u64(w, "cycle", d->place);
    jw_member_array(w, "points");
    for (uint32_t i = 0; i < d->n; i++) {
        jw_decimal(w, p->points.at[d->first + i].x, 1);
        jw_decimal(w, p->points.at[d->first + i].y, 1);
    }
    jw_end_array(w);
    place_json(w, d->x, d->y, d->w, PICTURE_LABEL);
    jw_end_object(w);
}

void picture_json(const picture *p, json_writer *w)
{
    jw_member_decimal(w, "width", p->width, 1);
    jw_member_decimal(w, "height", p->height, 1);
    jw_member_decimal(w, "gutter", p->gutter, 1);
    jw_member_bool(w, "timed", p->timed);
    if (p->left_out) jw_member_u64(w, "left_out", p->left_out);
    jw_member_array(w, "lanes");
    for (size_t i = 0; i < p->lanes.n; i++) {
        const picture_lane *l = &p->lanes.at[i];
        jw_object(w);
        jw_member_text(w, "name", l->name);
        jw_member_decimal(w, "y", l->y, 1);
        jw_member_decimal(w, "h", l->h, 1);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_member_array(w, "boxes");
    for (size_t i = 0; i < p->boxes.n; i++) box_json(w, p, &p->boxes.at[i]);
    jw_end_array(w);
    jw_member_array(w, "edges");
    for (size_t i = 0; i < p->edges.n; i++) edge_json(w, p, &p->edges.at[i]);
    jw_end_array(w);
    jw_member_array(w, "marks");
    for (size_t i = 0; i < p->marks.n; i++) {
        jw_array(w);
        jw_decimal(w, p->marks.at[i].x, 1);
        jw_text(w, p->marks.at[i].text);
        jw_format(w, "%lld", (long long)p->marks.at[i].at);
        jw_end_array(w);
    }
    jw_end_array(w);
    jw_member_array(w, "ticks");
    for (size_t i = 0; i < p->ticks.n; i++) {
        jw_array(w);
        jw_decimal(w, p->ticks.at[i].x, 1);
        jw_format(w, "%lld", (long long)p->ticks.at[i].at);
        jw_end_array(w);
    }
    jw_end_array(w);
}
