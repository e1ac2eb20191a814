INSERT INTO t0 (id, a, n, c) VALUES (1, 10, 1.5, 'x'), (2, 20, 2.5, 'y'), (3, 30, NULL, 'z')
--
CREATE FUNCTION add1(p int) RETURNS int AS $$ BEGIN RETURN p + 1; END $$ LANGUAGE plpgsql
--
SELECT add1(4), add1(NULL), add1(add1(1))
--
SELECT id, add1(a) FROM t0 ORDER BY id
--
CREATE PROCEDURE transfer(f int, t int, amount int) AS $$
DECLARE bal int;
BEGIN
  SELECT a INTO STRICT bal FROM t0 WHERE id = f;
  IF bal < amount THEN
    RAISE EXCEPTION 'not enough: %', bal USING ERRCODE = '22000';
  END IF;
  UPDATE t0 SET a = a - amount WHERE id = f;
  UPDATE t0 SET a = a + amount WHERE id = t;
END $$ LANGUAGE plpgsql
--
CALL transfer(1, 2, 5)
--
SELECT id, a FROM t0
--
CALL transfer(1, 2, 500)
--
CALL transfer(77, 2, 5)
--
SELECT id, a FROM t0
--
CREATE FUNCTION fact(n int) RETURNS numeric AS $$ BEGIN IF n <= 1 THEN RETURN 1; ELSE RETURN n * fact(n - 1); END IF; END $$ LANGUAGE plpgsql
--
SELECT fact(20), fact(30)
--
CREATE FUNCTION loops(n int, OUT s int, OUT t text) AS $$
DECLARE i int := 0;
BEGIN
  s := 0; t := '';
  <<up>> LOOP
    i := i + 1;
    EXIT up WHEN i > n;
    CONTINUE WHEN i % 2 = 0;
    s := s + i;
  END LOOP;
  WHILE i > 0 LOOP i := i - 2; t := t || i; END LOOP;
  FOR k IN 1..3 LOOP s := s + k; END LOOP;
  FOR k IN REVERSE 10..1 BY 3 LOOP t := t || ',' || k; END LOOP;
END $$ LANGUAGE plpgsql
--
SELECT * FROM loops(5)
--
SELECT s, t FROM loops(0) AS x
--
DO $$
DECLARE r RECORD; total int := 0; d t0%ROWTYPE; v t0.c%TYPE;
BEGIN
  FOR r IN SELECT id, a FROM t0 ORDER BY id LOOP
    total := total + r.a;
    UPDATE t0 SET l = total WHERE id = r.id;
  END LOOP;
  SELECT * INTO d FROM t0 WHERE id = 2;
  d.a := d.a * 2;
  v := d.c || 'q';
  INSERT INTO t0 (id, a, c) VALUES (d.id + 100, d.a, v);
END $$
--
SELECT id, a, c, l FROM t0
--
CREATE FUNCTION safe_div(x numeric, y numeric) RETURNS numeric AS $$
DECLARE r numeric;
BEGIN
  BEGIN
    INSERT INTO t0 (id) VALUES (500);
    r := x / y;
  EXCEPTION WHEN division_by_zero THEN
    RETURN -1;
  END;
  RETURN r;
END $$ LANGUAGE plpgsql
--
SELECT safe_div(1, 0)
--
SELECT id FROM t0 WHERE id = 500
--
SELECT safe_div(1, 4)
--
SELECT safe_div(1, 4)
--
SELECT id FROM t0 WHERE id = 500
--
CREATE FUNCTION errs(k int) RETURNS text AS $$
BEGIN
  CASE k
    WHEN 1 THEN RAISE 'plain %', k;
    WHEN 2 THEN RAISE unique_violation USING MESSAGE = 'mine';
    WHEN 3, 4 THEN INSERT INTO t0 (id) VALUES (1);
    WHEN 5 THEN PERFORM 1/0;
    WHEN 6 THEN ASSERT false, 'no';
    WHEN 7 THEN RAISE SQLSTATE '12345';
    WHEN 8 THEN RETURN 'ok';
    WHEN 9 THEN NULL;
  END CASE;
EXCEPTION
  WHEN raise_exception THEN RETURN SQLSTATE || SQLERRM;
  WHEN integrity_constraint_violation THEN RETURN 'integrity ' || SQLSTATE;
  WHEN others THEN RETURN 'other ' || SQLSTATE;
END $$ LANGUAGE plpgsql
--
SELECT errs(1)
--
SELECT errs(2)
--
SELECT errs(3)
--
SELECT errs(5)
--
SELECT errs(6)
--
SELECT errs(7)
--
SELECT errs(8)
--
SELECT errs(9)
--
SELECT errs(10)
--
CREATE FUNCTION cur(lim int) RETURNS text AS $$
DECLARE c CURSOR (k int) FOR SELECT id, a FROM t0 WHERE id < k ORDER BY id;
  x int; y int; out text := '';
BEGIN
  OPEN c(lim);
  LOOP
    FETCH c INTO x, y;
    EXIT WHEN NOT FOUND;
    out := out || x || ':' || coalesce(y, 0) || ' ';
  END LOOP;
  CLOSE c;
  FOR r IN c(3) LOOP out := out || r.id; END LOOP;
  RETURN out;
END $$ LANGUAGE plpgsql
--
SELECT cur(3)
--
SELECT cur(1000)
--
CREATE FUNCTION rows3(n int) RETURNS SETOF int AS $$ BEGIN FOR i IN 1..n LOOP RETURN NEXT i * 2; END LOOP; END $$ LANGUAGE plpgsql
--
SELECT * FROM rows3(4)
--
SELECT sum(rows3) FROM rows3(4)
--
CREATE FUNCTION tab(m int) RETURNS TABLE (k int, w text) AS $$ BEGIN RETURN QUERY SELECT q.id, q.c FROM t0 q WHERE q.id <= m; END $$ LANGUAGE plpgsql
--
SELECT * FROM tab(2)
--
SELECT t0.id, t.w FROM t0 JOIN tab(3) t ON t.k = t0.id
--
CREATE FUNCTION sq(x int) RETURNS int AS 'SELECT x * x' LANGUAGE sql
--
SELECT sq(5), sq(a) FROM t0 WHERE id = 1
--
CREATE FUNCTION tot() RETURNS bigint AS $$ SELECT sum(a) FROM t0 $$ LANGUAGE sql STABLE
--
SELECT tot()
--
CREATE PROCEDURE outp(a int, OUT b int, INOUT c text) AS $$ BEGIN b := a * 2; c := c || b; END $$ LANGUAGE plpgsql
--
CALL outp(3, NULL, 'v')
--
DO $$ DECLARE q int; w text := 'k'; BEGIN CALL outp(4, q, w); INSERT INTO t1 (id, c) VALUES (q, w); END $$
--
SELECT id, c FROM t1
--
CREATE FUNCTION dyn(t text, k int) RETURNS int AS $$ DECLARE n int; BEGIN EXECUTE 'SELECT a FROM ' || t || ' WHERE id = $1' INTO n USING k; RETURN n; END $$ LANGUAGE plpgsql
--
SELECT dyn('t0', 1), dyn('t0', 999)
--
CREATE FUNCTION diag() RETURNS int AS $$ DECLARE n int; BEGIN UPDATE t0 SET l = 0 WHERE id < 3; GET DIAGNOSTICS n = ROW_COUNT; IF NOT FOUND THEN n := -1; END IF; RETURN n; END $$ LANGUAGE plpgsql
--
SELECT diag()
--
CREATE FUNCTION noret() RETURNS int AS $$ BEGIN NULL; END $$ LANGUAGE plpgsql
--
SELECT noret()
--
CREATE FUNCTION v() RETURNS void AS $$ BEGIN UPDATE t0 SET l = 7 WHERE id = 1; END $$ LANGUAGE plpgsql
--
SELECT v()
--
CREATE FUNCTION st() RETURNS int STABLE AS $$ BEGIN UPDATE t0 SET l = 8 WHERE id = 1; RETURN 1; END $$ LANGUAGE plpgsql
--
SELECT st()
--
CREATE FUNCTION ret() RETURNS int AS $$ DECLARE k int; BEGIN UPDATE t0 SET l = 9 WHERE id = 1 RETURNING l INTO k; DELETE FROM t0 WHERE id = 500 RETURNING id INTO k; RETURN k; END $$ LANGUAGE plpgsql
--
SELECT ret()
--
SELECT ret()
--
CREATE FUNCTION amb(a int) RETURNS int AS $$ DECLARE r int; BEGIN SELECT a INTO r FROM t0 WHERE id = 1; RETURN r; END $$ LANGUAGE plpgsql
--
SELECT amb(1)
--
CREATE FUNCTION many() RETURNS int AS $$ DECLARE r int; BEGIN SELECT id INTO STRICT r FROM t0; RETURN r; END $$ LANGUAGE plpgsql
--
SELECT many()
--
DROP FUNCTION many
--
SELECT add1('x')
--
SELECT add1(1, 2)
--
DROP FUNCTION nosuch(int)
--
CREATE FUNCTION add1(p int) RETURNS int AS $$ BEGIN RETURN p + 2; END $$ LANGUAGE plpgsql
--
CREATE OR REPLACE FUNCTION add1(p int) RETURNS int AS $$ BEGIN RETURN p + 2; END $$ LANGUAGE plpgsql
--
SELECT add1(1)
--
CREATE OR REPLACE FUNCTION add1(p int) RETURNS text AS $$ BEGIN RETURN p + 2; END $$ LANGUAGE plpgsql
--
CREATE FUNCTION dflt(a int, b int DEFAULT 5, c text = 'x') RETURNS text AS $$ BEGIN RETURN a || '/' || b || '/' || c; END $$ LANGUAGE plpgsql
--
SELECT dflt(1), dflt(1, 2), dflt(1, c => 'q'), dflt(1, 2, 'w')
--
CREATE FUNCTION nn() RETURNS int AS $$ DECLARE v int NOT NULL := 3; BEGIN v := NULL; RETURN v; END $$ LANGUAGE plpgsql
--
SELECT nn()
--
CREATE FUNCTION cv(x numeric) RETURNS int AS $$ DECLARE v varchar(3); i int; s smallint; BEGIN i := x; v := x; s := '12'; RETURN i + s; END $$ LANGUAGE plpgsql
--
SELECT cv(2.5)
--
SELECT cv(22.75)
--
SELECT cv(3e9)
--
CREATE FUNCTION str(x int) RETURNS int STRICT AS $$ BEGIN RETURN 1; END $$ LANGUAGE plpgsql
--
SELECT str(NULL), str(2)
--
CREATE FUNCTION vis() RETURNS text AS $$ DECLARE r text := ''; k int; BEGIN SELECT count(*) INTO k FROM t2; r := r || k; INSERT INTO t2 (id, a) VALUES (1, 1); SELECT count(*) INTO k FROM t2; r := r || k; INSERT INTO t2 (id, a) VALUES (2, 2); RETURN r || (SELECT count(*) FROM t2); END $$ LANGUAGE plpgsql
--
SELECT vis(), (SELECT count(*) FROM t2)
--
BEGIN
--
SELECT add1(5)
--
UPDATE t0 SET a = 99 WHERE id = 1
--
SELECT tot()
--
CALL transfer(1, 2, 3)
--
SELECT id, a FROM t0
--
ROLLBACK
--
SELECT id, a FROM t0
--
DO $$ DECLARE v int; BEGIN PERFORM 1; BEGIN SELECT 1 INTO STRICT v WHERE false; EXCEPTION WHEN no_data_found THEN NULL; END; IF FOUND THEN RAISE SQLSTATE '22012'; END IF; END $$
