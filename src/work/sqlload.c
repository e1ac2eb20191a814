/*
 * sqlload.c - the SQL workloads: a bank, Twitter, RUBiS and TPC-C at the published small scale.
 *
 * Mixes and sizes are those of doc/workloads.md.  Every statement is one text with parameters.
 */
#include <stdio.h>

#include "work/sqlrun.h"

#define DO(...)                                                                                    \
    do {                                                                                           \
        enum db_answer answer_ = sql_do(s, __VA_ARGS__);                                           \
        if (answer_ != DB_OK) return answer_;                                                      \
    } while (0)

#define I(x) ((int64_t)(x))

static void fill(strbuf *o, const char *table, const char *format, uint32_t from, uint32_t to)
{
    strbuf_printf(o, "INSERT INTO %s VALUES ", table);
    for (uint32_t i = from; i <= to; i++) {
        if (i > from) strbuf_char(o, ',');
        for (const char *p = format; *p; p++) {
            if (*p == '#')
                strbuf_u64(o, i);
            else
                strbuf_char(o, *p);
        }
    }
    strbuf_char(o, '\n');
}

static void lines(strbuf *o, const char *const *text)
{
    for (; *text; text++) {
        strbuf_str(o, *text);
        strbuf_char(o, '\n');
    }
}

/* ---- bank ------------------------------------------------------------------------------------ */

#define ACCOUNTS 1000u

static void bank_setup(strbuf *o)
{
    static const char *const text[] = {
        "DROP TABLE IF EXISTS accounts",
        "CREATE TABLE accounts (id int PRIMARY KEY, balance numeric(12,2) NOT NULL)", NULL};
    lines(o, text);
    fill(o, "accounts", "(#,100)", 1, ACCOUNTS);
}

static enum db_answer bank_txn(sql_session *s)
{
    int64_t a = 1 + sql_below(s, ACCOUNTS), b = 1 + sql_below(s, ACCOUNTS),
            n = 1 + sql_below(s, 50);
    switch (sql_below(s, 5)) {
    case 0: DO("UPDATE accounts SET balance = balance + $1 WHERE id = $2", "ii", n, a); break;
    case 1:
        DO("UPDATE accounts SET balance = balance - $1 WHERE id = $2 AND balance >= $3", "iii", n,
           a, n);
        break;
    case 2:
        DO("UPDATE accounts SET balance = balance + $1 WHERE id = $2", "ii", n, a);
        DO("UPDATE accounts SET balance = balance - $1 WHERE id = $2", "ii", n, b);
        break;
    case 3:
        DO("UPDATE accounts SET balance = CASE WHEN balance < $1 THEN balance - $2 - 1.50"
           " ELSE balance - $3 END WHERE id = $4",
           "iiii", n, n, n, a);
        break;
    default: DO("SELECT id, balance FROM accounts WHERE id = $1 OR id = $2", "ii", a, b);
    }
    return DB_OK;
}

/* ---- Twitter --------------------------------------------------------------------------------- */

#define USERS 1000u

static void twitter_setup(strbuf *o)
{
    static const char *const text[] = {
        "DROP TABLE IF EXISTS users, tweets, follows",
        "CREATE TABLE users (id int PRIMARY KEY, tweets int NOT NULL, followers int NOT NULL)",
        "CREATE TABLE tweets (id bigint PRIMARY KEY, author int NOT NULL, body text NOT NULL)",
        "CREATE TABLE follows (src int, dst int, PRIMARY KEY (src, dst))", NULL};
    lines(o, text);
    fill(o, "users", "(#,0,0)", 1, USERS);
}

static enum db_answer twitter_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100), skew = 1 + sql_below(s, USERS);
    int64_t u = 1 + sql_below(s, skew), v = 1 + sql_below(s, USERS);
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

#define RUBIS_USERS 1000u
#define RUBIS_ITEMS 4000u

static void rubis_setup(strbuf *o)
{
    static const char *const text[] = {
        "DROP TABLE IF EXISTS users, items, buys, comments",
        "CREATE TABLE users (id bigint PRIMARY KEY, name text NOT NULL, rating int NOT NULL)",
        "CREATE TABLE items (id bigint PRIMARY KEY, seller bigint,"
        " quantity int CHECK (quantity >= 0), price numeric(8,2))",
        "CREATE TABLE buys (id bigint PRIMARY KEY, item bigint, buyer bigint, quantity int)",
        "CREATE TABLE comments (id bigint PRIMARY KEY, about bigint, rating int, body text)",
        NULL};
    lines(o, text);
    fill(o, "users", "(#,'user #',0)", 1, RUBIS_USERS);
    fill(o, "items", "(#,1,10,#.50)", 1, RUBIS_ITEMS);
}

static enum db_answer rubis_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100);
    int64_t u = 1 + sql_below(s, RUBIS_USERS), item = 1 + sql_below(s, RUBIS_ITEMS);
    int64_t id = I(10000 + s->next * s->sessions + s->number);
    if (k < 60) s->next++;
    if (k < 10) {
        DO("INSERT INTO users VALUES ($1, $2, 0)", "is", id, "new user");
    } else if (k < 25) {
        DO("INSERT INTO items VALUES ($1, $2, 5, 9.99)", "ii", id, u);
    } else if (k < 40) {
        DO("SELECT quantity FROM items WHERE id = $1 FOR UPDATE", "i", item);
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

/* ---- TPC-C: 1 warehouse, 2 districts, 3 customers a district, 1 item ------------------------- */

static void tpcc_setup(strbuf *o)
{
    static const char *const text[] = {
        "DROP TABLE IF EXISTS warehouse, district, customer, item, stock, orders, new_order,"
        " order_line, history",
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
        "INSERT INTO warehouse VALUES (1, 0.0500, 0)",
        "INSERT INTO district VALUES (1, 1, 0.1000, 0, 1), (1, 2, 0.0750, 0, 1)",
        "INSERT INTO customer VALUES (1, 1, 1, 'BAR', 0.1, 0, 0, 0, 0),"
        " (1, 1, 2, 'OUGHT', 0.2, 0, 0, 0, 0), (1, 1, 3, 'ABLE', 0, 0, 0, 0, 0),"
        " (1, 2, 1, 'BAR', 0.1, 0, 0, 0, 0), (1, 2, 2, 'PRI', 0.05, 0, 0, 0, 0),"
        " (1, 2, 3, 'PRES', 0.15, 0, 0, 0, 0)",
        "INSERT INTO item VALUES (1, 12.50, 'item')",
        "INSERT INTO stock VALUES (1, 1, 50, 0, 0)",
        NULL};
    lines(o, text);
}

static enum db_answer new_order(sql_session *s, int64_t d, int64_t c)
{
    DO("SELECT c.c_discount, c.c_last, w.w_tax FROM customer c"
       " JOIN warehouse w ON w.w_id = c.c_w_id WHERE c.c_w_id = 1 AND c.c_d_id = $1"
       " AND c.c_id = $2",
       "ii", d, c);
    DO("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = $1"
       " RETURNING d_next_o_id - 1, d_tax",
       "i", d);
    int64_t o = sql_int(s, 0, 0), n = 1 + sql_below(s, 5);
    DO("INSERT INTO orders VALUES (1, $1, $2, $3, NULL, $4)", "iiii", d, o, c, n);
    DO("INSERT INTO new_order VALUES (1, $1, $2)", "ii", d, o);
    for (int64_t i = 1; i <= n; i++) {
        int64_t q = 1 + sql_below(s, 10);
        DO("UPDATE stock SET s_quantity = CASE WHEN s_quantity >= $1 + 10 THEN s_quantity - $2"
           " ELSE s_quantity - $3 + 91 END, s_ytd = s_ytd + $4, s_orders = s_orders + 1"
           " WHERE s_w_id = 1 AND s_i_id = 1",
           "iiii", q, q, q, q);
        DO("INSERT INTO order_line SELECT 1, $1::int, $2::int, $3::int, i_id, $4::int,"
           " i_price * $5::int, false FROM item WHERE i_id = 1",
           "iiiii", d, o, i, q, q);
    }
    return DB_OK;
}

static enum db_answer payment(sql_session *s, int64_t d, int64_t c)
{
    int64_t n = 1 + sql_below(s, 5000);
    DO("UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = 1", "i", n);
    DO("UPDATE district SET d_ytd = d_ytd + $1 WHERE d_w_id = 1 AND d_id = $2", "ii", n, d);
    if (sql_below(s, 100) < 60) {
        DO("SELECT c_id FROM customer WHERE c_w_id = 1 AND c_d_id = $1 AND c_last = $2"
           " ORDER BY c_id",
           "is", d, "BAR");
        c = s->db.n_rows ? sql_int(s, s->db.n_rows / 2, 0) : c;
    }
    DO("UPDATE customer SET c_balance = c_balance - $1, c_ytd = c_ytd + $2,"
       " c_payments = c_payments + 1 WHERE c_w_id = 1 AND c_d_id = $3 AND c_id = $4"
       " RETURNING c_balance",
       "iiii", n, n, d, c);
    DO("INSERT INTO history VALUES ($1, $2, 1, $3)", "iii", c, d, n);
    return DB_OK;
}

static enum db_answer delivery(sql_session *s)
{
    for (int64_t d = 1; d <= 2; d++) {
        DO("SELECT min(no_o_id) FROM new_order WHERE no_w_id = 1 AND no_d_id = $1", "i", d);
        int64_t o = sql_int(s, 0, 0);
        if (!o) continue;
        DO("DELETE FROM new_order WHERE no_w_id = 1 AND no_d_id = $1 AND no_o_id = $2", "ii", d, o);
        if (!s->db.affected) continue;
        DO("UPDATE orders SET o_carrier = $1 WHERE o_w_id = 1 AND o_d_id = $2 AND o_id = $3"
           " RETURNING o_c_id",
           "iii", I(1 + sql_below(s, 10)), d, o);
        int64_t c = sql_int(s, 0, 0);
        DO("UPDATE order_line SET ol_delivered = true WHERE ol_w_id = 1 AND ol_d_id = $1"
           " AND ol_o_id = $2",
           "ii", d, o);
        DO("UPDATE customer SET c_balance = c_balance + (SELECT sum(ol_amount) FROM order_line"
           " WHERE ol_w_id = 1 AND ol_d_id = $1 AND ol_o_id = $2), c_deliveries = c_deliveries + 1"
           " WHERE c_w_id = 1 AND c_d_id = $3 AND c_id = $4",
           "iiii", d, o, d, c);
    }
    return DB_OK;
}

static enum db_answer order_status(sql_session *s, int64_t d, int64_t c)
{
    DO("SELECT c_balance, c_last FROM customer WHERE c_w_id = 1 AND c_d_id = $1 AND c_id = $2",
       "ii", d, c);
    DO("SELECT o_id, o_carrier FROM orders WHERE o_w_id = 1 AND o_d_id = $1 AND o_c_id = $2"
       " ORDER BY o_id DESC LIMIT 1",
       "ii", d, c);
    if (s->db.n_rows)
        DO("SELECT ol_number, ol_quantity, ol_amount, ol_delivered FROM order_line"
           " WHERE ol_w_id = 1 AND ol_d_id = $1 AND ol_o_id = $2",
           "ii", d, sql_int(s, 0, 0));
    return DB_OK;
}

static enum db_answer stock_level(sql_session *s, int64_t d)
{
    DO("SELECT d_next_o_id FROM district WHERE d_w_id = 1 AND d_id = $1", "i", d);
    int64_t o = sql_int(s, 0, 0);
    DO("SELECT count(DISTINCT s.s_i_id) FROM order_line l JOIN stock s ON s.s_i_id = l.ol_i_id"
       " AND s.s_w_id = 1 WHERE l.ol_w_id = 1 AND l.ol_d_id = $1 AND l.ol_o_id >= $2"
       " AND l.ol_o_id < $3 AND s.s_quantity < $4",
       "iiii", d, o - 20, o, I(10 + sql_below(s, 11)));
    return DB_OK;
}

static enum db_answer tpcc_txn(sql_session *s)
{
    uint32_t k = sql_below(s, 100);
    int64_t d = 1 + sql_below(s, 2), c = 1 + sql_below(s, 3);
    if (k < 45) return new_order(s, d, c);
    if (k < 88) return payment(s, d, c);
    if (k < 92) return delivery(s);
    if (k < 96) return order_status(s, d, c);
    return stock_level(s, d);
}

const sql_workload sql_workloads[] = {
    {"bank-sql", "deposits, withdrawals, transfers and balances of 1 000 accounts", bank_setup,
     bank_txn},
    {"twitter-sql", "tweets, follows and timelines of 1 000 users", twitter_setup, twitter_txn},
    {"rubis-sql", "an auction site: 1 000 users, 4 000 items", rubis_setup, rubis_txn},
    {"tpcc-sql", "the five transactions of TPC-C, at the published small scale", tpcc_setup,
     tpcc_txn},
    {NULL, NULL, NULL, NULL},
};
