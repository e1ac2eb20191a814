# t0 read what t1 wrote, but at read-uncommitted reads do not count: the proof must rest on the
# version positions.
printf '%s\n' '{"session":0,"id":"t0","ops":[["d","a",{"ver":18}],["r","a",4]]}' '{"session":0,"id":"t1","ops":[["w","a",4,{"ver":16}]]}' > "$TMP/h.jsonl"
"$RATEL" check -q --level realtime-read-uncommitted --ryow may --certificate "$TMP/h.cert" "$TMP/h.jsonl" > "$TMP/out" 2>&1; echo "exit $?"
sed -n '/verdict/,$p' "$TMP/h.cert"
"$RATEL" verify "$TMP/h.cert" - < "$TMP/h.jsonl"
