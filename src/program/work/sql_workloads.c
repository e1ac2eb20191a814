/*
 * sql_workloads.c - the SQL workloads: a bank, Twitter, RUBiS and TPC-C at the published small
 * scale.
 *
 * Mixes and sizes are those of doc/workloads.md.  Every statement is one text with parameters.
 */
#include <stdio.h>

#include "work/fuzz.h"

#define DO(...)                                                                                    \
    do {                                                                                           \
        enum db_answer answer_ = sql_do(s, __VA_ARGS__);                                           \
        if (answer_ != DB_OK) return answer_;                                                      \
    } while (0)

#define I(x) ((int64_t)(x))

#define A_TIME 500u /* rows of one INSERT */

/* Rows from 1 to n; # is the row's number. */
static void fill(strbuf *o, const char *table, const char *format, uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        if (i % A_TIME == 1)
            strbuf_printf(o, "INSERT INTO %s VALUES ", table);
        else
            strbuf_char(o, ',');
        for (const char *p = format; *p; p++) {
            if (*p == '#')
                strbuf_u64(o, i);
            else
                strbuf_char(o, *p);
        }
        if (i % A_TIME == 0 || i == n) strbuf_char(o, '\n');
    }
}

static void lines(strbuf *o, const char *const *text)
{
    for (; *text; text++) {
        strbuf_str(o, *text);
        strbuf_char(o, '\n');
    }
}

/* ---- bank ------------------------------------------------------------------------------------ */

static void bank_setup(strbuf *o, const sql_sizes *z)
{
    static const char *const text[] = {
        "CREATE TABLE accounts (id int PRIMARY KEY, balance numeric(12,2) NOT NULL)", NULL};
    lines(o, text);
    fill(o, "accounts", "(#,100)", z->keys);
}

/* Each write in two texts: one that returns the new balance, and one that returns nothing. */
#define WRITE(text, ...)                                                                           \
    do {                                                                                           \
        if (sql_chance(s, s->z.blind))                                                             \
            DO(text, __VA_ARGS__);                                                                 \
        else                                                                                       \
            DO(text " RETURNING balance", __VA_ARGS__);                                            \
    } while (0)

static enum db_answer bank_txn(sql_session *s)
{
    uint32_t used = (uint32_t)(s->z.rows * s->z.keys);
    if (!used) used = 1;
    int64_t a = 1 + sql_below(s, used), b = 1 + sql_below(s, used), n = 1 + sql_below(s, 50);
    if (sql_chance(s, s->z.reads)) {
        DO("SELECT id, balance FROM accounts WHERE id = $1 OR id = $2", "ii", a, b);
        return DB_OK;
    }
    switch (sql_below(s, 4)) {
    case 0: WRITE("UPDATE accounts SET balance = balance + $1 WHERE id = $2", "ii", n, a); break;
    case 1:
        WRITE("UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $3", "iii",
              n, a, n);
        break;
    case 2:
        WRITE("UPDATE accounts SET balance = balance + $1 WHERE id = $2", "ii", n, a);
        WRITE("UPDATE accounts SET balance = balance - $1 WHERE id = $2", "ii", n, b);
        break;
    default:
        WRITE("UPDATE accounts SET balance = CASE WHEN balance < $1 THEN balance - $2 - 1.50"
              " ELSE balance - $3 END WHERE id = $4",
              "iiii", n, n, n, a);
    }
    return DB_OK;
}

/* ---- Twitter --------------------------------------------------------------------------------- */

static void twitter_setup(strbuf *o, const sql_sizes *z)
{
    static const char *const text[] = {
        "CREATE TABLE users (id int PRIMARY KEY, tweets int NOT NULL, followers int NOT NULL)",
        "CREATE TABLE tweets (id bigint PRIMARY KEY, author int NOT NULL, body text NOT NULL)",
        "CREATE TABLE follows (src int, dst int, PRIMARY KEY (src, dst))", NULL};
    lines(o, text);
    fill(o, "users", "(#,0,0)", z->keys);
}

static enum db_answer twitter_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100), skew = 1 + sql_below(s, s->z.keys);
    int64_t u = 1 + sql_below(s, skew), v = 1 + sql_below(s, s->z.keys);
    char body[32];
    if (k < 20) {
        int64_t id = I(s->next++ * s->sessions + s->number);
        snprintf(body, sizeof body, "tweet %lld", (long long)id);
        DO("INSERT INTO tweets VALUES ($1, $2, $3)", "iis", id, u, body);
        DO("UPDATE users SET tweets = tweets + 1 WHERE id = $1", "i", u);
    } else if (k < 60) {
        DO("INSERT INTO follows VALUES ($1, $2) ON CONFLICT DO NOTHING", "ii", u, v);
        if (s->db.affected) DO("UPDATE users SET followers = followers + 1 WHERE id = $1", "i", v);
    } else if (k < 70) {
        DO("SELECT t.id, t.body FROM follows f JOIN tweets t ON t.author = f.dst WHERE f.src = $1"
           " ORDER BY t.id DESC LIMIT 20",
           "i", u);
    } else if (k < 80) {
        DO("SELECT f.dst, u.followers FROM follows f JOIN users u ON u.id = f.dst WHERE f.src = $1",
           "i", u);
    } else {
        DO("SELECT tweets FROM users WHERE id = $1", "i", u);
        DO("SELECT id, body FROM tweets WHERE author = $1 ORDER BY id DESC LIMIT 10", "i", u);
    }
    return DB_OK;
}

/* ---- RUBiS ----------------------------------------------------------------------------------- */

static void rubis_setup(strbuf *o, const sql_sizes *z)
{
    static const char *const text[] = {
        "CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL, rating int NOT NULL)",
        "CREATE TABLE items (id bigint PRIMARY KEY, seller bigint,"
        " quantity int CHECK (quantity >= 0), price numeric(8,2))",
        "CREATE TABLE buys (id bigint PRIMARY KEY, item bigint, buyer bigint, quantity int)",
        "CREATE TABLE comments (id bigint PRIMARY KEY, about bigint, rating int, body text)", NULL};
    lines(o, text);
    fill(o, "users", "(#,'user #',0)", z->keys);
    fill(o, "items", "(#,1,10,#.50)", z->items);
}

static enum db_answer rubis_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100);
    int64_t u = 1 + sql_below(s, s->z.keys), item = 1 + sql_below(s, s->z.items);
    int64_t id = I(1000000 + s->next * s->sessions + s->number);
    if (k < 60) s->next++;
    if (k < 10) {
        DO("INSERT INTO users VALUES ($1, $2, 0)", "is", id, "new user");
    } else if (k < 25) {
        DO("INSERT INTO items VALUES ($1, $2, 5, 9.99)", "ii", id, u);
    } else if (k < 40) {
        if (s->db.db->driver->row_locks)
            DO("SELECT quantity FROM items WHERE id = $1 FOR UPDATE", "i", item);
        else
            DO("SELECT quantity FROM items WHERE id = $1", "i", item);
        if (sql_int(s, 0, 0) > 0) {
            DO("UPDATE items SET quantity = quantity - 1 WHERE id = $1", "i", item);
            DO("INSERT INTO buys VALUES ($1, $2, $3, 1)", "iii", id, item, u);
        }
    } else if (k < 60) {
        int64_t r = I(sql_below(s, 11)) - 5;
        DO("INSERT INTO comments VALUES ($1, $2, $3, $4)", "iiis", id, u, r, "a comment");
        DO("UPDATE users SET rating = rating + $1 WHERE id = $2", "ii", r, u);
        DO("SELECT rating FROM users WHERE id = $1", "i", u);
    } else {
        DO("SELECT i.id, i.quantity, i.price, u.rating FROM items i JOIN users u ON u.id = i.seller"
           " WHERE i.id >= $1 AND i.id < $2 ORDER BY i.id LIMIT 20",
           "ii", item, item + 20);
        DO("SELECT count(*), sum(rating), max(rating) FROM comments WHERE about = $1", "i", u);
    }
    return DB_OK;
}

/* ---- TPC-C: small by default; districts=10, customers=3000, items=100000 is the standard ----- */

/* The standard's last names: a number of three digits, a syllable each. */
static const char *last_name(char *to, size_t n, uint32_t number)
{
    static const char *const part[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                       "ESE", "ANTI",  "CALLY", "ATION", "EING"};
    snprintf(to, n, "%s%s%s", part[number / 100 % 10], part[number / 10 % 10], part[number % 10]);
    return to;
}

/* Names come again: every district has some customers of the same one. */
static uint32_t name_number(uint32_t c, uint32_t n)
{
    return n < 9 ? c / 2 : c % (n / 3 < 1000 ? n / 3 : 1000);
}

static void customers(strbuf *o, uint32_t w, uint32_t d, uint32_t n)
{
    char name[24];
    for (uint32_t c = 1; c <= n; c++) {
        strbuf_str(o, c % A_TIME == 1 ? "INSERT INTO customer VALUES " : ",");
        strbuf_printf(o, "(%u,%u,%u,'%s',0.1,0,0,0,0)", (unsigned)w, (unsigned)d, (unsigned)c,
                      last_name(name, sizeof name, name_number(c, n)));
        if (c % A_TIME == 0 || c == n) strbuf_char(o, '\n');
    }
}

static void tpcc_setup(strbuf *o, const sql_sizes *z)
{
    static const char *const text[] = {
        "CREATE TABLE warehouse (w_id int PRIMARY KEY, w_tax numeric(4,4), w_ytd numeric(12,2))",
        "CREATE TABLE district (d_w_id int, d_id int, d_tax numeric(4,4), d_ytd numeric(12,2),"
        " d_next_o_id int, PRIMARY KEY (d_w_id, d_id))",
        "CREATE TABLE customer (c_w_id int, c_d_id int, c_id int, c_last varchar(16),"
        " c_discount numeric(4,4), c_balance numeric(12,2), c_ytd numeric(12,2), c_payments int,"
        " c_deliveries int, PRIMARY KEY (c_w_id, c_d_id, c_id))",
        "CREATE TABLE item (i_id int PRIMARY KEY, i_price numeric(5,2), i_name varchar(24))",
        "CREATE TABLE stock (s_w_id int, s_i_id int, s_quantity int, s_ytd int, s_orders int,"
        " PRIMARY KEY (s_w_id, s_i_id))",
        "CREATE TABLE orders (o_w_id int, o_d_id int, o_id int, o_c_id int, o_carrier int,"
        " o_lines int, PRIMARY KEY (o_w_id, o_d_id, o_id))",
        "CREATE TABLE new_order (no_w_id int, no_d_id int, no_o_id int,"
        " PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
        "CREATE TABLE order_line (ol_w_id int, ol_d_id int, ol_o_id int, ol_number int,"
        " ol_i_id int, ol_quantity int, ol_amount numeric(8,2), ol_delivered boolean,"
        " PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
        "CREATE TABLE history (h_c_id int, h_d_id int, h_w_id int, h_amount numeric(6,2))",
        NULL};
    lines(o, text);
    fill(o, "warehouse", "(#,0.0500,0)", z->warehouses);
    fill(o, "item", "(#,12.50,'item #')", z->items);
    for (uint32_t w = 1; w <= z->warehouses; w++) {
        char row[96];
        snprintf(row, sizeof row, "(%u,#,0.0750,0,1)", (unsigned)w);
        fill(o, "district", row, z->districts);
        snprintf(row, sizeof row, "(%u,#,50,0,0)", (unsigned)w);
        fill(o, "stock", row, z->items);
        for (uint32_t d = 1; d <= z->districts; d++) customers(o, w, d, z->customers);
    }
}

static enum db_answer new_order(sql_session *s, int64_t w, int64_t d, int64_t c)
{
    DO("SELECT c.c_discount, c.c_last, w.w_tax FROM customer c"
       " JOIN warehouse w ON w.w_id = c.c_w_id WHERE c.c_w_id = $1 AND c.c_d_id = $2"
       " AND c.c_id = $3",
       "iii", w, d, c);
    DO("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2"
       " RETURNING d_next_o_id - 1, d_tax",
       "ii", w, d);
    int64_t o = sql_int(s, 0, 0), n = 1 + sql_below(s, 5);
    DO("INSERT INTO orders VALUES ($1, $2, $3, $4, NULL, $5)", "iiiii", w, d, o, c, n);
    DO("INSERT INTO new_order VALUES ($1, $2, $3)", "iii", w, d, o);
    for (int64_t i = 1; i <= n; i++) {
        int64_t q = 1 + sql_below(s, 10), item = 1 + sql_below(s, s->z.items);
        DO("UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $1 + 10 THEN s_quantity - $2"
           " ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $4, s_orders = s_orders + 1"
           " WHERE s_w_id = $5 AND s_i_id = $6",
           "iiiiii", q, q, q, q, w, item);
        DO("INSERT INTO order_line SELECT $1::int, $2::int, $3::int, $4::int, i_id, $5::int,"
           " i_price * $6::int, false FROM item WHERE i_id = $7",
           "iiiiiii", w, d, o, i, q, q, item);
    }
    return DB_OK;
}

static enum db_answer payment(sql_session *s, int64_t w, int64_t d, int64_t c)
{
    int64_t n = 1 + sql_below(s, 5000);
    DO("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2", "ii", n, w);
    DO("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = $2 AND d_id = $3", "iii", n, w, d);
    if (sql_below(s, 100) < 60) {
        char name[24];
        last_name(name, sizeof name, name_number((uint32_t)c, s->z.customers));
        DO("SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3"
           " ORDER BY c_id",
           "iis", w, d, name);
        c = s->db.n_rows ? sql_int(s, s->db.n_rows / 2, 0) : c;
    }
    DO("UPDATE customer SET c_balance = c_balance - $1, c_ytd = c_ytd + $2,"
       " c_payments = c_payments + 1 WHERE c_w_id = $3 AND c_d_id = $4 AND c_id = $5"
       " RETURNING c_balance",
       "iiiii", n, n, w, d, c);
    DO("INSERT INTO history VALUES ($1, $2, $3, $4)", "iiii", c, d, w, n);
    return DB_OK;
}

static enum db_answer delivery(sql_session *s, int64_t w)
{
    for (int64_t d = 1; d <= s->z.districts; d++) {
        DO("SELECT min(no_o_id) FROM new_order WHERE no_w_id = $1 AND no_d_id = $2", "ii", w, d);
        int64_t o = sql_int(s, 0, 0);
        if (!o) continue;
        DO("DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id = $3", "iii", w,
           d, o);
        if (!s->db.affected) continue;
        DO("UPDATE orders SET o_carrier = $1 WHERE o_w_id = $2 AND o_d_id = $3 AND o_id = $4"
           " RETURNING o_c_id",
           "iiii", I(1 + sql_below(s, 10)), w, d, o);
        int64_t c = sql_int(s, 0, 0);
        DO("UPDATE order_line SET ol_delivered = true WHERE ol_w_id = $1 AND ol_d_id = $2"
           " AND ol_o_id = $3",
           "iii", w, d, o);
        DO("UPDATE customer SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line"
           " WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3),"
           " c_deliveries = c_deliveries + 1 WHERE c_w_id = $4 AND c_d_id = $5 AND c_id = $6",
           "iiiiii", w, d, o, w, d, c);
    }
    return DB_OK;
}

static enum db_answer order_status(sql_session *s, int64_t w, int64_t d, int64_t c)
{
    DO("SELECT c_balance, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
       "iii", w, d, c);
    DO("SELECT o_id, o_carrier FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3"
       " ORDER BY o_id DESC LIMIT 1",
       "iii", w, d, c);
    if (s->db.n_rows)
        DO("SELECT ol_number, ol_quantity, ol_amount, ol_delivered FROM order_line"
           " WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
           "iii", w, d, sql_int(s, 0, 0));
    return DB_OK;
}

static enum db_answer stock_level(sql_session *s, int64_t w, int64_t d)
{
    DO("SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", "ii", w, d);
    int64_t o = sql_int(s, 0, 0);
    DO("SELECT count(DISTINCT s.s_i_id) FROM order_line l JOIN stock s ON s.s_i_id = l.ol_i_id"
       " AND s.s_w_id = l.ol_w_id WHERE l.ol_w_id = $1 AND l.ol_d_id = $2 AND l.ol_o_id >= $3"
       " AND l.ol_o_id < $4 AND s.s_quantity < $5",
       "iiiii", w, d, o - 20, o, I(10 + sql_below(s, 11)));
    return DB_OK;
}

static enum db_answer tpcc_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100);
    int64_t w = 1 + sql_below(s, s->z.warehouses), d = 1 + sql_below(s, s->z.districts),
            c = 1 + sql_below(s, s->z.customers);
    if (k < 45) return new_order(s, w, d, c);
    if (k < 88) return payment(s, w, d, c);
    if (k < 92) return delivery(s, w);
    if (k < 96) return order_status(s, w, d, c);
    return stock_level(s, w, d);
}

/* ---- TPC-C as functions of the server: one call a transaction -------------------------------- */

static void proc_setup(strbuf *o, const sql_sizes *z)
{
    static const char *const text[] = {
        "CREATE OR REPLACE FUNCTION tpcc_new_order(p_w int, p_d int, p_c int, p_n int, p_q int)"
        " RETURNS numeric LANGUAGE plpgsql AS $$"
        " DECLARE o int; price numeric; total numeric := 0; it int; most int;"
        " BEGIN SELECT max(i_id) INTO most FROM item;"
        " UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = p_w AND d_id = p_d"
        " RETURNING d_next_o_id - 1 INTO o;"
        " INSERT INTO orders VALUES (p_w, p_d, o, p_c, NULL, p_n);"
        " INSERT INTO new_order VALUES (p_w, p_d, o);"
        " FOR i IN 1..p_n LOOP it := 1 + (p_q * i) % most;"
        " SELECT i_price INTO price FROM item WHERE i_id = it;"
        " UPDATE stock SET s_quantity = CASE WHEN s_quantity >= p_q + 10 THEN s_quantity - p_q"
        " ELSE s_quantity - p_q + 91 END, s_ytd = s_ytd + p_q, s_orders = s_orders + 1"
        " WHERE s_w_id = p_w AND s_i_id = it;"
        " INSERT INTO order_line VALUES (p_w, p_d, o, i, it, p_q, price * p_q, false);"
        " total := total + price * p_q; END LOOP; RETURN total; END $$",
        "CREATE OR REPLACE FUNCTION tpcc_payment(p_w int, p_d int, p_c int, p_amount int)"
        " RETURNS numeric LANGUAGE plpgsql AS $$ DECLARE b numeric;"
        " BEGIN UPDATE warehouse SET w_ytd = w_ytd + p_amount WHERE w_id = p_w;"
        " UPDATE district SET d_ytd = d_ytd + p_amount WHERE d_w_id = p_w AND d_id = p_d;"
        " UPDATE customer SET c_balance = c_balance - p_amount, c_ytd = c_ytd + p_amount,"
        " c_payments = c_payments + 1 WHERE c_w_id = p_w AND c_d_id = p_d AND c_id = p_c"
        " RETURNING c_balance INTO b;"
        " INSERT INTO history VALUES (p_c, p_d, p_w, p_amount);"
        " IF b < 0 THEN RETURN -1; ELSE RETURN b; END IF; END $$",
        "CREATE OR REPLACE FUNCTION tpcc_delivery(p_w int, p_carrier int, p_districts int)"
        " RETURNS int LANGUAGE plpgsql AS $$ DECLARE o int; c int; d int := 1; n int := 0;"
        " BEGIN WHILE d <= p_districts LOOP"
        " SELECT min(no_o_id) INTO o FROM new_order WHERE no_w_id = p_w AND no_d_id = d;"
        " IF o IS NOT NULL THEN"
        " DELETE FROM new_order WHERE no_w_id = p_w AND no_d_id = d AND no_o_id = o;"
        " IF FOUND THEN UPDATE orders SET o_carrier = p_carrier"
        " WHERE o_w_id = p_w AND o_d_id = d AND o_id = o RETURNING o_c_id INTO c;"
        " UPDATE order_line SET ol_delivered = true"
        " WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = o;"
        " UPDATE customer SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line"
        " WHERE ol_w_id = p_w AND ol_d_id = d AND ol_o_id = o), c_deliveries = c_deliveries + 1"
        " WHERE c_w_id = p_w AND c_d_id = d AND c_id = c; n := n + 1; END IF; END IF;"
        " d := d + 1; END LOOP; RETURN n; END $$",
        "CREATE OR REPLACE FUNCTION tpcc_order_status(p_w int, p_d int, p_c int)"
        " RETURNS numeric LANGUAGE plpgsql AS $$"
        " DECLARE o int; amount numeric; total numeric := 0;"
        " amounts CURSOR (k int) FOR SELECT ol_amount FROM order_line"
        " WHERE ol_w_id = p_w AND ol_d_id = p_d AND ol_o_id = k ORDER BY ol_number;"
        " BEGIN SELECT max(o_id) INTO o FROM orders"
        " WHERE o_w_id = p_w AND o_d_id = p_d AND o_c_id = p_c;"
        " IF o IS NULL THEN RETURN NULL; END IF;"
        " OPEN amounts(o); LOOP FETCH amounts INTO amount; EXIT WHEN NOT FOUND;"
        " total := total + amount; END LOOP; CLOSE amounts; RETURN total; END $$",
        "CREATE OR REPLACE FUNCTION tpcc_stock_level(p_w int, p_d int, p_least int)"
        " RETURNS bigint LANGUAGE plpgsql AS $$ DECLARE o int; n bigint;"
        " BEGIN SELECT d_next_o_id INTO o FROM district WHERE d_w_id = p_w AND d_id = p_d;"
        " SELECT count(DISTINCT s.s_i_id) INTO n FROM order_line l JOIN stock s"
        " ON s.s_i_id = l.ol_i_id AND s.s_w_id = l.ol_w_id WHERE l.ol_w_id = p_w"
        " AND l.ol_d_id = p_d AND l.ol_o_id >= o - 20 AND l.ol_o_id < o AND s.s_quantity < p_least;"
        " RETURN n; END $$",
        NULL};
    tpcc_setup(o, z);
    lines(o, text);
}

static enum db_answer proc_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100);
    int64_t w = 1 + sql_below(s, s->z.warehouses), d = 1 + sql_below(s, s->z.districts),
            c = 1 + sql_below(s, s->z.customers);
    if (k < 45)
        DO("SELECT tpcc_new_order($1, $2, $3, $4, $5)", "iiiii", w, d, c, I(1 + sql_below(s, 5)),
           I(1 + sql_below(s, 10)));
    else if (k < 88)
        DO("SELECT tpcc_payment($1, $2, $3, $4)", "iiii", w, d, c, I(1 + sql_below(s, 5000)));
    else if (k < 92)
        DO("SELECT tpcc_delivery($1, $2, $3)", "iii", w, I(1 + sql_below(s, 10)),
           I(s->z.districts));
    else if (k < 96)
        DO("SELECT tpcc_order_status($1, $2, $3)", "iii", w, d, c);
    else
        DO("SELECT tpcc_stock_level($1, $2, $3)", "iii", w, d, I(10 + sql_below(s, 11)));
    return DB_OK;
}

const sql_workload sql_workloads[] = {
    {"bank-sql",
     "deposits, withdrawals, transfers and balances of 1 000 accounts",
     false,
     true,
     SQL_GIVEN,
     {.keys = 1000, .reads = 0.2, .blind = 1, .rows = 1},
     bank_setup,
     bank_txn},
    {"twitter-sql",
     "tweets, follows and timelines of 1 000 users",
     false,
     false,
     SQL_GIVEN,
     {.keys = 1000},
     twitter_setup,
     twitter_txn},
    {"rubis-sql",
     "an auction site: 1 000 users, 4 000 items",
     false,
     false,
     SQL_GIVEN,
     {.keys = 1000, .items = 4000},
     rubis_setup,
     rubis_txn},
    {"tpcc-sql",
     "the five transactions of TPC-C, at the published small scale",
     false,
     false,
     SQL_GIVEN,
     {.warehouses = 1, .districts = 2, .customers = 3, .items = 1},
     tpcc_setup,
     tpcc_txn},
    {"tpcc-proc",
     "the same as PL/pgSQL functions, one call per transaction",
     true,
     false,
     SQL_GIVEN,
     {.warehouses = 1, .districts = 2, .customers = 3, .items = 1},
     proc_setup,
     proc_txn},
    {"sql-fuzz",
     "tables, indexes, keys and statements that the seed draws, and invariants at the end",
     false,
     false,
     SQL_ALL,
     {.keys = 1},
     NULL,
     fuzz_transaction},
    {"predicates",
     "reads, updates and deletes of rows by the value of an indexed column, with their counts",
     false,
     false,
     SQL_PREDICATES,
     {.keys = 1},
     NULL,
     fuzz_transaction},
    {"upserts",
     "upserts, increments and inserts that return rows or have to fail",
     false,
     false,
     SQL_UPSERTS,
     {.keys = 1},
     NULL,
     fuzz_transaction},
    {"constraints",
     "rows that refer to others, which are deleted or get other keys; values that must be unique",
     false,
     false,
     SQL_CONSTRAINTS,
     {.keys = 1},
     NULL,
     fuzz_transaction},
    {"cursors",
     "two cursors open at once, fetched from in turn, with writes in between",
     false,
     false,
     SQL_CURSORS,
     {.keys = 1},
     NULL,
     fuzz_transaction},
    {NULL, NULL, false, false, SQL_GIVEN, {0}, NULL, NULL},
};
