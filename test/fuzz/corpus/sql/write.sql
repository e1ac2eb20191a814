INSERT INTO t (id, a) VALUES (3, $1), (4, DEFAULT) ON CONFLICT (id) DO UPDATE SET a = excluded.a + 1 WHERE t.a IS NOT NULL RETURNING *
UPDATE t SET n = round(n / 3, 1), c = CASE WHEN a = $2 THEN upper(c) ELSE coalesce(c, 'none') || a END
DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.id = t.a) OR n BETWEEN -1 AND 1.5e2