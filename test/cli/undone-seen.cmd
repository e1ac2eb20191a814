printf '%s\n' '{"ratel":1,"init":{"x":0,"y":0}}' '{"session":1,"id":"a","ops":[["w","x",1,{"undone":true}],["d","y",{"undone":true}]]}' '{"session":2,"id":"b","level":"ru","ops":[["r","x",1]]}' '{"session":3,"id":"c","level":"ru","ops":[["r","y",null]]}' > "$TMP/h.jsonl"
cd "$TMP"
for l in ru realtime-ru mixed rc; do "$RATEL" check -q -l $l h.jsonl; echo "$l $?"; done
printf '%s\n' '{"ratel":1,"init":0}' '{"session":1,"id":"a","ops":[["w","x",1,{"undone":true}],["r","x",1,{"undone":true}]]}' '{"session":2,"id":"b","ops":[["r","x",2]]}' > g.jsonl
"$RATEL" check -q -l ru g.jsonl; echo "garbage all the same: $?"
