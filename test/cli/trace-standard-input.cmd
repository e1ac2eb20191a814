# - is standard input, also for logs and change streams; --time bounds the wait for it.
cd "$TMP"
printf '%s\n' '{"ratel_sql":1,"setup":["CREATE TABLE t (id int PRIMARY KEY, v int)","INSERT INTO t VALUES (1,10)"]}' '{"session":1,"id":"a","statements":[{"sql":"UPDATE t SET v = 11 WHERE id = 1","count":1}]}' > log.jsonl
"$RATEL" trace to-history - < log.jsonl 2> err; echo "exit $?"
mkfifo silent; exec 9<> silent
"$RATEL" trace to-history --time 0.2 - < silent 2>&1; echo "exit $?"
"$RATEL" trace versions --keys 't:id->v' --time 0.2 - < silent 2>&1; echo "exit $?"
