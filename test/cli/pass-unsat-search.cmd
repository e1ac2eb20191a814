# A hidden lost update: found in one segment, without deciding the whole, and told the same.
"$RATEL" gen -w blindw-rw -n 3000 -s 8 --no-times --truth /dev/null -a lost-update --plant hidden -o "$TMP/h.jsonl"
"$RATEL" check -q -l ser "$TMP/h.jsonl" | sed "s|$TMP/||" > "$TMP/whole"
"$RATEL" check -q -l ser --stats --pass unsat-search "$TMP/h.jsonl" 2> "$TMP/stats" | sed "s|$TMP/||" > "$TMP/part"
cmp "$TMP/whole" "$TMP/part" && head -1 "$TMP/part"
cut -d' ' -f1,2 "$TMP/stats" | grep '^serializable'
"$RATEL" check -q -l si --pass unsat-search --pass -reachability,-topological "$TMP/h.jsonl" > "$TMP/si"; echo $?
