/*
 * A driver for `ratel run --db exec:...`: any JDBC driver on the class path.
 *
 *   java -cp /usr/share/java/h2.jar drivers/Jdbc.java jdbc:h2:mem:x [--index] [--one]
 *
 * One process serves all sessions, each in a thread with its connection, so that databases in memory
 * work.  --one: the database is outside (a server), and each session has a process of its own.
 * --index: a second, indexed column, which every other write sets, too.
 *
 * The protocol is described in doc/drivers.md.  How calls end is decided by SQLSTATE and error code
 * (`ending`): class 40 and what products add to it is refused, class 08 unknown.
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;

public class Jdbc {
    /* HSQLDB prints to System.out now and then: whatever does, that is not for Ratel. */
    static final PrintStream out = System.out;
    static String url;
    static boolean indexed, one;
    static Connection keeper;
    static Product product;
    static final List<String> made = new ArrayList<>(); /* by script, the last one first */
    static final Map<String, Worker> workers = new ConcurrentHashMap<>();

    /* --- what is known of products -------------------------------------------------------------- */

    /** A level that a product documents: isolation, JDBC's number, Ratel's level, source. */
    record Level(String name, int number, String level, String source) {}

    record Product(String name, boolean tombstones, List<String> snapshot, List<Level> levels) {}

    static final String H2 = "https://h2database.com/html/advanced.html#transaction_isolation";
    static final String HSQL = "http://hsqldb.org/doc/2.0/guide/sessions-chapt.html";
    static final String DERBY = "https://db.apache.org/derby/docs/10.14/devguide/cdevconcepts15366.html";

    /** HSQLDB in its mode MVCC, in which its guide promises snapshots, not serial executions. */
    static boolean hasVersions(Connection c) {
        String sql = "SELECT property_value FROM information_schema.system_properties "
            + "WHERE property_name = 'hsqldb.tx'";
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            if (r.next()) return r.getString(1).equalsIgnoreCase("mvcc");
        } catch (SQLException e) {
            /* an older version: the URL is all there is */
        }
        return url.toLowerCase().contains("hsqldb.tx=mvcc");
    }

    static Product productOf(DatabaseMetaData d) throws SQLException {
        String n = d.getDatabaseProductName();
        int ser = Connection.TRANSACTION_SERIALIZABLE, rr = Connection.TRANSACTION_REPEATABLE_READ;
        int rc = Connection.TRANSACTION_READ_COMMITTED, ru = Connection.TRANSACTION_READ_UNCOMMITTED;
        /* Its documents promise snapshots, and no equivalence with serial executions.  That two writers
           of a row conflict they do not say; it compares values, so that one does not notice others
           that have left the value as it was. */
        if (n.equals("H2"))
            return new Product(n, true, List.of("read", "write"), List.of(
                new Level("serializable", ser, "prefix", H2),
                new Level("repeatable-read", rr, "read-committed", H2),
                new Level("read-committed", rc, "read-committed", H2),
                new Level("read-uncommitted", ru, "read-uncommitted", H2)));
        if (n.startsWith("HSQL")) { /* two-phase locks, unless it was told to keep versions */
            boolean versions = hasVersions(d.getConnection());
            return new Product(n, true, List.of(), List.of(
                new Level("serializable", ser, versions ? "snapshot-isolation" : "serializable",
                          versions ? HSQL + "#snc_tx_mvcc" : HSQL),
                new Level("read-committed", rc, "read-committed", HSQL)));
        }
        if (n.contains("Derby"))
            return new Product(n, true, List.of(), List.of(
                new Level("serializable", ser, "serializable", DERBY),
                /* phantoms are allowed, and a key that was absent and then is not is one */
                new Level("repeatable-read", rr, "read-committed", DERBY),
                new Level("read-committed", rc, "read-committed", DERBY),
                new Level("read-uncommitted", ru, "read-uncommitted", DERBY)));
        List<Level> all = new ArrayList<>();
        Object[][] names = {{"serializable", ser}, {"repeatable-read", rr}, {"read-committed", rc},
                            {"read-uncommitted", ru}};
        for (Object[] x : names)
            if (d.supportsTransactionIsolationLevel((int) x[1]))
                all.add(new Level((String) x[0], (int) x[1], null, null));
        return new Product(n, true, List.of(), all);
    }

    /** refused: the transaction has no effect; unknown: the connection is gone; else failed. */
    static String ending(SQLException e) {
        String s = e.getSQLState() == null ? "" : e.getSQLState();
        int c = e.getErrorCode();
        if (s.equals("40003") || s.startsWith("08")) return "unknown";
        if (s.startsWith("40") || s.startsWith("23")) return "refused";
        if (product.name.equals("H2") && (c == 50200 || c == 90131)) return "refused";
        /* H2 has begun to roll back a transaction, and then sends a statement into it itself */
        if (product.name.equals("H2") && c == 50000 && String.valueOf(e.getMessage()).contains("ROLLING_BACK"))
            return "refused";
        if (product.name.startsWith("HSQL") && (c == -4861 || c == -4871)) return "refused";
        return "failed";
    }

    /** H2 and HSQLDB have two codes for references, by whether the parent or the child is missing, and 23513 for
        checks; a log of SQL has those that most products have. */
    static String stateOf(SQLException e) {
        String s = e.getSQLState() == null ? "XX000" : e.getSQLState();
        return s.equals("23504") || s.equals("23506") ? "23503" : s.equals("23513") ? "23514" : s;
    }

    /* --- one session ------------------------------------------------------------------------------ */

    static class Worker extends Thread {
        final LinkedBlockingQueue<Map<String, Object>> requests = new LinkedBlockingQueue<>();
        Connection c;
        Savepoint savepoint;
        String table;
        boolean lists;
        int puts;

        @Override public void run() {
            try {
                for (;;) {
                    Map<String, Object> r = requests.take();
                    answer(r, this);
                    if (r.get("op").equals("disconnect")) return;
                }
            } catch (InterruptedException e) {
                return;
            }
        }

        PreparedStatement prepare(String sql, Object... values) throws SQLException {
            PreparedStatement p = c.prepareStatement(sql);
            for (int i = 0; i < values.length; i++) p.setObject(i + 1, values[i]);
            return p;
        }

        int change(String sql, Object... values) throws SQLException {
            try (PreparedStatement p = prepare(sql, values)) {
                return p.executeUpdate();
            }
        }

        void write(long key, String change, Object value, Object first) throws SQLException {
            if (indexed && ++puts % 2 == 1) change += ", s = " + puts;
            String sql = "UPDATE " + table + " SET " + change + " WHERE k = ?";
            if (value == null) sql = sql.replaceFirst("\\?", "NULL");
            int n = value == null ? change(sql, key) : change(sql, value, key);
            if (n > 0) return;
            if (first == null)
                change("INSERT INTO " + table + "(k) VALUES(?)", key);
            else
                change("INSERT INTO " + table + "(k, v) VALUES(?, ?)", key, first);
        }

        void isolate(String name) throws SQLException {
            for (Level l : product.levels) {
                if (!l.name.equals(name)) continue;
                if (c.getTransactionIsolation() == l.number) return;
                c.setAutoCommit(true);
                c.setTransactionIsolation(l.number);
                return;
            }
            throw new IllegalArgumentException("no isolation level " + name);
        }

        /** Outside of a transaction. A put is then an UPDATE and perhaps an INSERT, of which one at most
         *  has written; an addition, which also reads what it wrote, needs a transaction. */
        String performAlone(String op, Map<String, Object> r) throws SQLException {
            isolate((String) r.get("isolation"));
            c.setAutoCommit(!op.equals("add"));
            if (!op.equals("add")) return perform(op, r);
            try {
                String sum = perform(op, r);
                c.commit();
                return sum;
            } catch (SQLException e) {
                if (ending(e).equals("refused")) c.rollback();
                throw e;
            }
        }

        /** The members of the answer after "done". */
        String perform(String op, Map<String, Object> r) throws SQLException {
            switch (op) {
            case "connect":
                c = DriverManager.getConnection(url);
                table = (String) r.get("place");
                lists = (Boolean) r.get("lists");
                if (Boolean.TRUE.equals(r.get("hasty")) && product.name.equals("H2"))
                    try (Statement s = c.createStatement()) {
                        s.execute("SET LOCK_TIMEOUT 1");
                    }
                return "";
            case "disconnect":
                c.close();
                return "";
            case "begin":
                isolate((String) r.get("isolation"));
                c.setAutoCommit(false);
                return "";
            case "get":
                try (PreparedStatement p = prepare("SELECT v FROM " + table + " WHERE k = ?",
                                                   number(r, "key"));
                     ResultSet rows = p.executeQuery()) {
                    if (!rows.next()) return ",\"value\":null";
                    String v = rows.getString(1);
                    if (v == null) return ",\"value\":null,\"tomb\":true";
                    return ",\"value\":" + (lists ? "[" + v + "]" : v);
                }
            case "put":
                write(number(r, "key"), "v = ?", number(r, "value"), number(r, "value"));
                return "";
            case "append":
                write(number(r, "key"), "v = v || CAST(? AS VARCHAR(30))", "," + number(r, "value"),
                      "" + number(r, "value"));
                return "";
            case "bury":
                write(number(r, "key"), "v = ?", null, null);
                return "";
            case "delete":
                return ",\"found\":" + (change("DELETE FROM " + table + " WHERE k = ?",
                                               number(r, "key")) > 0);
            case "add":
                return add(number(r, "key"), number(r, "value"), Boolean.TRUE.equals(r.get("upsert")));
            case "savepoint":
                nest((String) r.get("what"));
                return "";
            case "range":
                return range(r);
            case "query":
                return query((String) r.get("sql"), (List<?>) r.get("params"));
            case "commit":
                try {
                    c.commit();
                } catch (SQLException e) {
                    if (ending(e).equals("refused")) c.rollback();
                    throw e;
                }
                return "";
            case "abort":
                if (!c.getAutoCommit()) c.rollback();
                return "";
            default:
                throw new IllegalArgumentException("no operation " + op);
            }
        }

        /** One UPDATE adds; the sum is then what this transaction reads of its own row. */
        String add(long key, long amount, boolean upsert) throws SQLException {
            if (change("UPDATE " + table + " SET v = v + ? WHERE k = ?", amount, key) == 0) {
                if (!upsert) return ",\"value\":null";
                change("INSERT INTO " + table + "(k, v) VALUES(?, ?)", key, amount);
                return ",\"value\":" + amount;
            }
            try (PreparedStatement p = prepare("SELECT v FROM " + table + " WHERE k = ?", key);
                 ResultSet rows = p.executeQuery()) {
                return ",\"value\":" + (rows.next() ? rows.getString(1) : null);
            }
        }

        void nest(String what) throws SQLException {
            if (what.equals("set")) {
                savepoint = c.setSavepoint();
                return;
            }
            if (what.equals("undo")) c.rollback(savepoint); // (after which HSQLDB has it no more)
            else c.releaseSavepoint(savepoint);
        }

        /** Rows where the statement returns some, else how many it changed. */
        String query(String sql, List<?> params) throws SQLException {
            try (PreparedStatement p = c.prepareStatement(sql.replaceAll("\\$\\d+", "?"))) {
                for (int i = 0; params != null && i < params.size(); i++)
                    p.setString(i + 1, (String) params.get(i));
                if (!p.execute()) return ",\"count\":" + Math.max(p.getUpdateCount(), 0);
                StringBuilder b = new StringBuilder(",\"rows\":[");
                try (ResultSet rows = p.getResultSet()) {
                    int columns = rows.getMetaData().getColumnCount();
                    for (int n = 0; rows.next(); n++) {
                        b.append(n > 0 ? ",[" : "[");
                        for (int k = 1; k <= columns; k++) {
                            Object v = rows.getObject(k);
                            b.append(k > 1 ? "," : "").append(v == null || v instanceof Number
                                || v instanceof Boolean ? String.valueOf(v) : quoted(v.toString()));
                        }
                        b.append(']');
                    }
                }
                return b.append(']').toString();
            }
        }

        String range(Map<String, Object> r) throws SQLException {
            StringBuilder b = new StringBuilder(",\"rows\":[");
            try (PreparedStatement p = prepare("SELECT k, v FROM " + table + " WHERE k >= ? AND k < ? "
                                               + "AND v IS NOT NULL ORDER BY k"
                                               + (Boolean.TRUE.equals(r.get("reverse")) ? " DESC" : ""), number(r, "from"),
                                               number(r, "to"))) {
                if (r.containsKey("limit")) p.setMaxRows((int) number(r, "limit"));
                try (ResultSet rows = p.executeQuery()) {
                    for (int n = 0; rows.next(); n++)
                        b.append(n > 0 ? "," : "").append('[').append(rows.getLong(1)).append(',')
                            .append(rows.getLong(2)).append(']');
                }
            }
            return b.append(']').toString();
        }
    }

    /* --- the keeper ------------------------------------------------------------------------------- */

    static void statement(String sql) throws SQLException {
        try (Statement s = keeper.createStatement()) {
            s.execute(sql);
        }
    }

    static void drop(String table) throws SQLException {
        try (ResultSet t = keeper.getMetaData().getTables(null, null, table.toUpperCase(), null)) {
            if (!t.next()) return;
        }
        statement("DROP TABLE " + table);
    }

    @SuppressWarnings("unchecked")
    static String keep(String op, Map<String, Object> r) throws SQLException {
        String place = (String) r.get("place");
        switch (op) {
        case "hello":
            return hello();
        case "setup":
            drop(place);
            statement("CREATE TABLE " + place + "(k BIGINT NOT NULL PRIMARY KEY, v "
                      + ((Boolean) r.get("lists") ? "VARCHAR(8000)" : "BIGINT")
                      + (indexed ? ", s BIGINT" : "") + ")");
            if (indexed) statement("CREATE INDEX " + place + "_s ON " + place + "(s)");
            return "";
        case "load":
            for (Object row : (List<Object>) r.get("rows"))
                statement("INSERT INTO " + place + "(k, v) VALUES(" + ((List<Object>) row).get(0) + ","
                          + ((List<Object>) row).get(1) + ")");
            return "";
        case "script":
            for (String sql : ((String) r.get("sql")).split(";")) {
                if (sql.isBlank()) continue;
                statement(sql);
                if (sql.startsWith("CREATE TABLE ")) made.add(0, sql.split(" ")[2]);
            }
            return "";
        case "teardown":
            for (String table : made) drop(table);
            made.clear();
            drop(place);
            return "";
        default:
            throw new IllegalArgumentException("no operation " + op);
        }
    }

    static String hello() throws SQLException {
        StringBuilder names = new StringBuilder(), contracts = new StringBuilder();
        for (Level l : product.levels) {
            names.append(names.length() > 0 ? "," : "").append(quoted(l.name));
            if (l.level != null)
                contracts.append(contracts.length() > 0 ? "," : "").append(quoted(l.name))
                    .append(":{\"level\":").append(quoted(l.level)).append(",\"source\":")
                    .append(quoted(l.source)).append('}');
        }
        List<String> snapshot = new ArrayList<>();
        for (String s : product.snapshot) snapshot.add(quoted(s));
        boolean memory = url.contains(":mem") || url.contains("memory:");
        return ",\"protocol\":1,\"driver\":\"Jdbc.java\",\"engine\":" + quoted(product.name)
            + ",\"version\":" + quoted(keeper.getMetaData().getDatabaseProductVersion().split(" ")[0])
            + ",\"isolations\":[" + names + "],\"contracts\":{" + contracts + "},\"snapshot\":"
            + snapshot + ",\"operations\":[\"get\",\"put\",\"append\",\"delete\",\"bury\",\"range\",\"reverse\",\"sql\""
            + ",\"add\",\"autocommit\"" + (keeper.getMetaData().supportsSavepoints() ? ",\"savepoint\"]" : "]")
            + ",\"sessions\":\"" + (one ? "one" : "many") + "\",\"data\":\""
            + (memory ? "child" : one || url.contains("//") ? "outside" : "files")
            /* (H2 tries some updates of a locked row again and again, whatever LOCK_TIMEOUT says.) */
            + "\",\"waits\":\"maybe\",\"timeout_ms\":30000";
    }

    /* --- the protocol ----------------------------------------------------------------------------- */

    static void answer(Map<String, Object> r, Worker w) {
        String op = (String) r.get("op"), end = "done", more;
        try {
            more = w == null ? keep(op, r)
                : Boolean.TRUE.equals(r.get("alone")) ? w.performAlone(op, r) : w.perform(op, r);
        } catch (SQLException e) {
            end = ending(e);
            String state = stateOf(e);
            more = ",\"state\":" + quoted(state) + ",\"error\":" + quoted(state + " " + e.getErrorCode() + " " + e.getMessage());
        } catch (RuntimeException e) {
            end = "failed";
            more = ",\"error\":" + quoted("" + e.getMessage());
        }
        synchronized (out) {
            out.println("{\"id\":" + r.get("id") + ",\"answer\":\"" + end + "\"" + more + "}");
            out.flush();
        }
    }

    static long number(Map<String, Object> r, String name) {
        return (Long) r.get(name);
    }

    static String quoted(String s) {
        StringBuilder b = new StringBuilder("\"");
        for (char x : s.toCharArray())
            if (x == '"' || x == '\\') b.append('\\').append(x);
            else b.append(x < 32 || x > 126 ? ' ' : x);
        return b.append('"').toString();
    }

    /** As much of JSON as requests have. */
    static class Reader {
        final String s;
        int at;

        Reader(String s) {
            this.s = s;
        }

        Object value() {
            char x = s.charAt(at);
            if (x == '{') return object();
            if (x == '[') return list();
            if (x == '"') return text();
            int from = at;
            while (at < s.length() && ",]}".indexOf(s.charAt(at)) < 0) at++;
            String word = s.substring(from, at);
            return word.equals("true") ? Boolean.TRUE : word.equals("false") ? Boolean.FALSE
                : (Object) Long.valueOf(word);
        }

        Map<String, Object> object() {
            Map<String, Object> m = new LinkedHashMap<>();
            for (at++; s.charAt(at) != '}'; ) {
                if (s.charAt(at) == ',') at++;
                String name = text();
                at++;
                m.put(name, value());
            }
            at++;
            return m;
        }

        List<Object> list() {
            List<Object> l = new ArrayList<>();
            for (at++; s.charAt(at) != ']'; ) {
                if (s.charAt(at) == ',') at++;
                l.add(value());
            }
            at++;
            return l;
        }

        String text() {
            StringBuilder b = new StringBuilder();
            for (at++; s.charAt(at) != '"'; at++) {
                if (s.charAt(at) != '\\') {
                    b.append(s.charAt(at));
                    continue;
                }
                char c = s.charAt(++at);
                int plain = "nrtbf".indexOf(c);
                if (c == 'u') {
                    b.append((char) Integer.parseInt(s.substring(at + 1, at + 5), 16));
                    at += 4;
                } else {
                    b.append(plain < 0 ? c : "\n\r\t\b\f".charAt(plain));
                }
            }
            at++;
            return b.toString();
        }
    }

    public static void main(String[] args) throws Exception {
        for (String a : args)
            if (a.equals("--index")) indexed = true;
            else if (a.equals("--one")) one = true;
            else url = a;
        /* H2 takes the name of a column, value, for a word of its own. */
        if (url.startsWith("jdbc:h2:") && !url.contains("NON_KEYWORDS")) url += ";NON_KEYWORDS=VALUE";
        System.setOut(System.err);
        /* Derby waits a minute for a lock, and leaves a log where it starts. */
        System.setProperty("derby.locks.waitTimeout", "1");
        System.setProperty("derby.locks.deadlockTimeout", "1");
        System.setProperty("derby.stream.error.file", "/dev/null");
        keeper = DriverManager.getConnection(url);
        product = productOf(keeper.getMetaData());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> r = new Reader(line).object();
            Object session = r.get("session");
            if (session == null) {
                answer(r, null);
                continue;
            }
            Worker w = workers.computeIfAbsent(session.toString(), x -> {
                Worker made = new Worker();
                made.setDaemon(true);
                made.start();
                return made;
            });
            w.requests.add(r);
            if (r.get("op").equals("disconnect")) workers.remove(session.toString());
        }
        System.exit(0);
    }
}
