/*
 * work_tpcc.c - the five transactions of TPC-C on rows as keys.
 *
 * Warehouses, districts, customers, stock and items are there from the start; orders, their lines
 * and payments are new keys.  The client side remembers which orders it has placed (numbers, lines,
 * the last one of a customer, the oldest not delivered), where SQL would look them up; rows of an
 * order that was refused or aborted in the end are read as 0.
 */
#include <stdio.h>

#include "gen/workload.h"

enum { NEW_ORDER, PAYMENT, DELIVERY, ORDER_STATUS, STOCK_LEVEL };

typedef struct order {
    uint32_t key;      /* of the order; new-order and the lines follow */
    uint32_t district; /* over all warehouses */
    uint32_t number;   /* within the district */
    uint32_t customer; /* within the district */
    uint32_t item;     /* of its first line, in items */
    uint32_t lines;
    uint32_t older, newer; /* of the same district */
} order;

typedef struct tpcc {
    uint32_t warehouses, districts, customers, recent;
    uint32_t district, customer, stock, item, dynamic; /* the first key of each table */
    VEC(order) orders;
    VEC(uint32_t) items; /* of all lines */
    VEC(uint32_t)
    row_owner; /* of each key from dynamic on: its order, or NO_ID: a payment or a plant */
    uint32_t *newest, *oldest; /* of each district: orders; oldest: not delivered */
    uint32_t *last;            /* order of each customer */
} tpcc;

static void init_tpcc(workload *w, const knob_set *k)
{
    tpcc *t = w->own = mem_zeroed(w->mem, sizeof *t);
    guard *g = w->mem->guard;
    t->warehouses = knob_size(k, g, KNOB_WAREHOUSES, 1);
    t->districts = knob_size(k, g, KNOB_DISTRICTS, 10);
    t->customers = knob_size(k, g, KNOB_CUSTOMERS, 3000);
    t->recent = knob_size(k, g, KNOB_ORDERS, 20);
    uint64_t districts = (uint64_t)t->warehouses * t->districts;
    if (districts >> 32 || districts * t->customers >= 1u << 30 ||
        (uint64_t)t->warehouses * w->keys >= 1u << 30 || w->ops > 1000 || t->recent > 1000)
        guard_fail(g, GUARD_INVAL, "tpcc: too many rows");
    w->duplicate_keys = 0;
    t->district = t->warehouses;
    t->customer = t->district + (uint32_t)districts;
    t->stock = t->customer + (uint32_t)districts * t->customers;
    t->item = t->stock + t->warehouses * w->keys;
    t->dynamic = w->next_key = t->item + w->keys;
    t->newest = mem_array(w->mem, uint32_t, districts);
    t->oldest = mem_array(w->mem, uint32_t, districts);
    t->last = mem_array(w->mem, uint32_t, districts * t->customers);
    memset(t->newest, 0xff, districts * sizeof *t->newest);
    memset(t->oldest, 0xff, districts * sizeof *t->oldest);
    memset(t->last, 0xff, districts * t->customers * sizeof *t->last);
}

static void free_tpcc(workload *w)
{
    tpcc *t = w->own;
    vec_free(w->mem, &t->orders);
    vec_free(w->mem, &t->items);
    vec_free(w->mem, &t->row_owner);
    mem_put(w->mem, t->newest);
    mem_put(w->mem, t->oldest);
    mem_put(w->mem, t->last);
}

static uint32_t longest_tpcc(const workload *w)
{
    const tpcc *t = w->own;
    uint32_t place = 6 + 4 * w->ops, deliver = t->districts * (6 + 2 * w->ops);
    uint32_t level = 1 + 2 * w->ops * t->recent, n = place > deliver ? place : deliver;
    return n > level ? n : level > 7 ? level : 7;
}

static uint32_t new_row(workload *w, tpcc *t, uint32_t owner)
{
    uint32_t key = workload_fresh_key(w);
    while (t->row_owner.n < key - t->dynamic) vec_push(w->mem, &t->row_owner, NO_ID);
    vec_push(w->mem, &t->row_owner, owner);
    return key;
}

static void modify(workload *w, step *steps, plan *p, uint32_t key)
{
    plan_read(steps, p, key);
    plan_fresh(w, steps, p, key);
}

static void place_order(workload *w, rng *r, tpcc *t, plan *p, step *steps, uint32_t d)
{
    uint32_t least = w->ops < 5 ? w->ops : 5, house = d / t->districts;
    order o = {.district = d,
               .customer = rng_below(r, t->customers),
               .item = (uint32_t)t->items.n,
               .lines = least + rng_below(r, w->ops - least + 1),
               .older = t->newest[d],
               .newer = NO_ID};
    uint32_t id = (uint32_t)t->orders.n;
    o.number = o.older == NO_ID ? 1 : t->orders.at[o.older].number + 1;
    if (o.older != NO_ID) t->orders.at[o.older].newer = id;
    t->newest[d] = id;
    if (t->oldest[d] == NO_ID) t->oldest[d] = id;
    t->last[d * t->customers + o.customer] = id;
    o.key = new_row(w, t, id);
    for (uint32_t i = 0; i <= o.lines; i++) new_row(w, t, id); /* these follow, one by one */
    plan_read(steps, p, house);
    modify(w, steps, p, t->district + d);
    plan_read(steps, p, t->customer + d * t->customers + o.customer);
    plan_fresh(w, steps, p, o.key);
    plan_fresh(w, steps, p, o.key + 1);
    for (uint32_t i = 0; i < o.lines; i++) {
        uint32_t item = draw_slot(w, r);
        vec_push(w->mem, &t->items, item);
        plan_read(steps, p, t->item + item);
        modify(w, steps, p, t->stock + house * w->keys + item);
        plan_fresh(w, steps, p, o.key + 2 + i);
    }
    vec_push(w->mem, &t->orders, o);
}

static void deliver(workload *w, tpcc *t, plan *p, step *steps, uint32_t house)
{
    for (uint32_t d = house * t->districts; d < (house + 1) * t->districts; d++) {
        if (t->oldest[d] == NO_ID) continue;
        const order *o = &t->orders.at[t->oldest[d]];
        t->oldest[d] = o->newer;
        modify(w, steps, p, o->key + 1);
        modify(w, steps, p, o->key);
        for (uint32_t i = 0; i < o->lines; i++) modify(w, steps, p, o->key + 2 + i);
        modify(w, steps, p, t->customer + d * t->customers + o->customer);
    }
    if (!p->n) plan_read(steps, p, house);
}

static void look_at_stock(const workload *w, const tpcc *t, plan *p, step *steps, uint32_t d)
{
    plan_read(steps, p, t->district + d);
    uint32_t id = t->newest[d], house = d / t->districts;
    for (uint32_t n = 0; n < t->recent && id != NO_ID; n++, id = t->orders.at[id].older) {
        const order *o = &t->orders.at[id];
        for (uint32_t i = 0; i < o->lines; i++) {
            plan_read(steps, p, o->key + 2 + i);
            plan_read(steps, p, t->stock + house * w->keys + t->items.at[o->item + i]);
        }
    }
}

static void plan_tpcc(workload *w, rng *r, plan *p, step *steps, bool again)
{
    static const uint8_t until[] = {45, 88, 92, 96, 100};
    if (again) return;
    tpcc *t = w->own;
    uint32_t x = rng_below(r, 100), d = rng_below(r, (uint64_t)t->warehouses * t->districts);
    uint32_t customer = t->customer + d * t->customers + rng_below(r, t->customers);
    for (p->shape = 0; x >= until[p->shape];) p->shape++;
    p->n = 0;
    switch (p->shape) {
    case NEW_ORDER: place_order(w, r, t, p, steps, d); break;
    case PAYMENT:
        modify(w, steps, p, d / t->districts);
        modify(w, steps, p, t->district + d);
        modify(w, steps, p, customer);
        plan_fresh(w, steps, p, new_row(w, t, NO_ID));
        break;
    case DELIVERY: deliver(w, t, p, steps, d / t->districts); break;
    case ORDER_STATUS: {
        plan_read(steps, p, customer);
        uint32_t id = t->last[customer - t->customer];
        if (id == NO_ID) break;
        const order *o = &t->orders.at[id];
        plan_read(steps, p, o->key);
        for (uint32_t i = 0; i < o->lines; i++) plan_read(steps, p, o->key + 2 + i);
        break;
    }
    default: look_at_stock(w, t, p, steps, d); break;
    }
}

static bool step_tpcc(workload *w, rng *r, plan *p, step *steps, uint32_t i)
{
    (void)w, (void)r, (void)p, (void)steps, (void)i;
    return true;
}

static size_t name_order_row(const tpcc *t, uint32_t key, char *out, size_t cap)
{
    uint32_t i = key - t->dynamic, id = i < t->row_owner.n ? t->row_owner.at[i] : NO_ID;
    if (id == NO_ID) return (size_t)snprintf(out, cap, "history:%u", i + 1);
    const order *o = &t->orders.at[id];
    unsigned house = o->district / t->districts + 1, d = o->district % t->districts + 1;
    uint32_t part = key - o->key;
    if (part < 2)
        return (size_t)snprintf(out, cap, "%s:%u:%u:%u", part ? "new-order" : "order", house, d,
                                o->number);
    return (size_t)snprintf(out, cap, "order-line:%u:%u:%u:%u", house, d, o->number, part - 1);
}

static size_t name_tpcc(const workload *w, uint32_t key, char *out, size_t cap)
{
    const tpcc *t = w->own;
    if (key >= t->dynamic) return name_order_row(t, key, out, cap);
    if (key >= t->item) return (size_t)snprintf(out, cap, "item:%u", key - t->item + 1);
    if (key >= t->stock) {
        uint32_t i = key - t->stock;
        return (size_t)snprintf(out, cap, "stock:%u:%u", i / w->keys + 1, i % w->keys + 1);
    }
    if (key >= t->customer) {
        uint32_t i = key - t->customer, d = i / t->customers;
        return (size_t)snprintf(out, cap, "customer:%u:%u:%u", d / t->districts + 1,
                                d % t->districts + 1, i % t->customers + 1);
    }
    if (key >= t->district) {
        uint32_t d = key - t->district;
        return (size_t)snprintf(out, cap, "district:%u:%u", d / t->districts + 1,
                                d % t->districts + 1);
    }
    return (size_t)snprintf(out, cap, "warehouse:%u", key + 1);
}

const work_class work_tpcc = {.flags = WORK_EXPLICIT,
                              .theta = 0.5,
                              .init = init_tpcc,
                              .free = free_tpcc,
                              .longest = longest_tpcc,
                              .plan = plan_tpcc,
                              .step = step_tpcc,
                              .name = name_tpcc};
