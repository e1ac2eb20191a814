# An empty list after an own append misses that append first of all; at read-uncommitted this is
# allowed, so the argument must not be that nobody wrote the empty list.
printf '%s\n' '{"ratel":1,"init":[["x",[4]]]}' '{"session":1,"id":"a","ops":[["append","x",8],["r","x",null]]}' > "$TMP/h.jsonl"
"$RATEL" explain -q --level rc "$TMP/h.jsonl" | sed -n '/^Then/,/^$/p'
"$RATEL" explain -q --level ru "$TMP/h.jsonl" | sed -n '1s/.*: read/read/p'
