# t2 waits for t3 in a circle, and two other sources of its read are undecided: one must be tried.
cat > "$TMP/h.jsonl" <<'END'
{"ratel":1,"init":null}
{"session":0,"id":"t0","status":"committed","ops":[["r","b",null]]}
{"session":0,"id":"t1","status":"unknown","ops":[["w","a",2]]}
{"session":0,"id":"t2","status":"committed","ops":[["w","c",1],["r","b",1],["w","a",1]]}
{"session":0,"id":"t3","status":"unknown","ops":[["w","b",1],["r","a",1,{"lock":true}],["d","a"]]}
{"session":0,"id":"t4","status":"unknown","ops":[["r","a",null],["w","b",1],["r","b",1]]}
{"session":1,"id":"t5","status":"unknown","ops":[["r","b",null],["r","a",null],["w","b",1]]}
END
check() { timeout 20 "$RATEL" check -q -l "$1" --session-order off --ryow may --pass none "$TMP/h.jsonl" | sed "s|$TMP/||"; }
check innodb-repeatable-read
check innodb-repeatable-read-tight
