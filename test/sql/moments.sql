CREATE TABLE mo (id int PRIMARY KEY, i interval, d date, p timestamp, h time, UNIQUE (i))
--
INSERT INTO mo VALUES (1, '1 day', '2024-01-31', '2024-01-31 10:20:30.5', '10:00'), (2, '1 mon -2 days 03:04:05.678', '2024-02-29', '1999-12-31 23:59:59.999999', '23:59:59'), (3, '-1 year -2 mons +3 days -04:05:06', '2023-03-01', '2000-01-01', '00:00'), (4, NULL, NULL, NULL, NULL), (5, '00:00:00', '0001-01-01', '9999-12-31 00:00', '12:34:56.789')
--
SELECT * FROM mo ORDER BY i, id
--
INSERT INTO mo VALUES (6, '24 hours', NULL, NULL, NULL)
--
SELECT id, i::text, p + i, p - i, d + i, d - i, i + p FROM mo WHERE id <> 5 ORDER BY id
--
SELECT id, p - timestamp '2000-01-01', p - d, d - d, d + h, h + i, h - i, h - time '01:02:03' FROM mo ORDER BY id
--
SELECT i * 2, i / 3, 2.5 * i, i * 0.1, -i, i + interval '1 hour', i - interval '1 mon' FROM mo ORDER BY id
--
SELECT i / 0 FROM mo
--
SELECT interval '1 year 2 months', interval '1.5 days', interval '1.5 months', interval '1.25 years', interval '2 weeks 1.5 hours', interval '@ 3 days ago', interval 'P1Y2M3DT4H5M6.7S', interval '1-2', interval '3 04:05:06', interval '5', interval '-1.5 seconds', interval '1 decade', interval '1 century 3 ms 7 us'
--
SELECT interval '-1 day 2 hours', interval '-00:00:01', interval '1 mon -1 day', interval '100000 hours', interval '1day', interval '1 Day 2 HOURS', interval '0.5 weeks', interval '0.1 mons'
--
SELECT interval 'nonsense'
--
SELECT interval '1 banana'
--
SELECT interval ''
--
SELECT interval '99999999999 years'
--
SELECT interval '178956970 years' + interval '178956970 years'
--
SELECT interval '2147483647 days' + interval '1 day'
--
SELECT extract(year from p), extract(month from p), extract(day from p), extract(hour from p), extract(minute from p), extract(second from p), extract(milliseconds from p), extract(microseconds from p), extract(epoch from p) FROM mo ORDER BY id
--
SELECT extract(dow from p), extract(isodow from p), extract(doy from p), extract(week from p), extract(isoyear from p), extract(quarter from p), extract(decade from p), extract(century from p), extract(millennium from p) FROM mo ORDER BY id
--
SELECT extract(epoch from d), extract(dow from d), extract(week from d), extract(isoyear from d), extract(century from d) FROM mo ORDER BY id
--
SELECT extract(epoch from i), extract(second from i), extract(minute from i), extract(hour from i), extract(day from i), extract(month from i), extract(year from i), extract(quarter from i), extract(milliseconds from i), extract(microseconds from i) FROM mo ORDER BY id
--
SELECT date_part('year', p), date_part('epoch', p), date_part('hour', i), date_part('day', d) FROM mo ORDER BY id
--
SELECT extract(epoch from timestamptz '2024-05-06 07:08:09+02'), extract(hour from h), extract(second from h) FROM mo ORDER BY id
--
-- refused
SELECT extract(hour from timestamptz '2024-05-06 07:08:09+02')
--
SELECT date_trunc('year', p), date_trunc('quarter', p), date_trunc('month', p), date_trunc('week', p), date_trunc('day', p), date_trunc('hour', p), date_trunc('minute', p), date_trunc('second', p), date_trunc('milliseconds', p) FROM mo WHERE id <> 5 ORDER BY id
--
SELECT date_trunc('century', p), date_trunc('millennium', p) FROM mo ORDER BY id
--
SELECT date_trunc('year', i), date_trunc('month', i), date_trunc('day', i), date_trunc('hour', i), date_trunc('second', i), date_trunc('decade', i) FROM mo ORDER BY id
--
-- refused
SELECT date_trunc('month', d) FROM mo
--
SELECT age(p, timestamp '2001-03-31 12:00') FROM mo ORDER BY id
--
SELECT age(timestamp '2001-04-10', timestamp '1957-06-13'), age(timestamp '1957-06-13', timestamp '2001-04-10'), age(timestamp '2024-03-01', timestamp '2024-01-31')
--
SELECT justify_hours(interval '27 hours'), justify_days(interval '35 days'), justify_hours(interval '1 day -1 hour'), make_date(2024, 2, 29)
--
SELECT make_date(2023, 2, 29)
--
SELECT to_char(p, 'YYYY-MM-DD HH24:MI:SS'), to_char(p, 'FMDD.FMMM.YY HH12:MI AM'), to_char(p, 'Day, DD Month YYYY'), to_char(p, 'Dy Mon DDD Q D MS US'), to_char(p, 'FMMonth FMDay pm "at" HH'), to_char(d, 'YYYYMMDD'), to_char(p, 'MONTH dy mon DAY') FROM mo WHERE id < 4 ORDER BY id
--
-- refused
SELECT to_char(p, 'TZ') FROM mo
--
-- refused
SELECT to_char(d, 'HH24') FROM mo
--
SELECT to_date('2024-05-06', 'YYYY-MM-DD'), to_timestamp(1700000000.5) = timestamptz '2023-11-14 22:13:20.5+00'
--
SELECT timestamptz '2024-05-06 10:00:00+02' + interval '90 minutes' = timestamptz '2024-05-06 09:30:00+00', timestamptz '2024-05-06 10:00:00+02' - timestamptz '2024-05-01 00:00:00+00'
--
-- refused
SELECT timestamptz '2024-05-06 10:00:00+02' + interval '1 day'
--
SELECT timestamptz '2024-05-06 10:00:00+02' AT TIME ZONE 'UTC'
--
SELECT id FROM mo WHERE p > timestamp '2024-03-01' - interval '2 months' ORDER BY id
--
SELECT i, count(*) FROM mo GROUP BY i ORDER BY i
--
SELECT min(i), max(i), count(DISTINCT i), sum(i), avg(i) FROM mo
--
SELECT interval '1 mon' = interval '30 days', interval '24:00' = interval '1 day', interval '1 year' > interval '360 days', interval '1 day' IN (interval '24 hours'), interval '1 day' < '25 hours'
--
SELECT p + '1 day', p - '2000-01-01', p - interval '1 day' * 2 FROM mo WHERE id = 1
--
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-15', date '2024-03-01'), (timestamp '2024-01-01', timestamp '2024-02-01') OVERLAPS (timestamp '2024-02-01', timestamp '2024-03-01')
--
SELECT time '10:00' + interval '1 hour', time '23:30' + interval '1 day 45 minutes', time '10:00'::interval, interval '1 day 25:00'::time, timestamp '2024-01-01 12:13:14.5'::time
--
SELECT greatest(interval '1 day', interval '23 hours'), coalesce(NULL::interval, '1 hour'), CASE WHEN true THEN interval '1 min' END
--
SELECT date '2024-01-31' + 1, date '2024-01-31' - 1, 1 + date '2024-01-31', date '2024-01-31' - date '2023-01-31', '2024-01-31'::date + interval '1 mon'
--
UPDATE mo SET p = p + interval '2 hours', i = i * 2 WHERE id = 1 RETURNING *
--
DELETE FROM mo WHERE i > interval '1 day' RETURNING id
