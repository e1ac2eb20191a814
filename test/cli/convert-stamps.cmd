# Timestamps of the database, without client times, are lost in formats that have no place for them.
printf '%s\n' '{"session":1,"id":"a","commit_ts":5,"ops":[["w","x",1]]}' > "$TMP/commit.jsonl"
printf '%s\n' '{"session":1,"id":"a","start_ts":2,"ops":[["w","x",1]]}' > "$TMP/start.jsonl"
printf '%s\n' '{"session":1,"id":"a","begin":2,"end":5,"ops":[["w","x",1]]}' > "$TMP/client.jsonl"
for f in cobra dbcop edn-rw text viper awdit-test; do
    for h in commit start client; do
        "$RATEL" convert --lossy --to $f "$TMP/$h.jsonl" "$TMP/$h.$f" 2> "$TMP/said"
        echo "$f $h $? $(grep -c 'lost: .*times' "$TMP/said")"
    done
done
