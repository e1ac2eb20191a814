# EDN is read up to 1000 levels deep: what is nested deeper than the writer may go is left out.
for n in 998 999; do
    deep=$(printf "%${n}s" | tr ' ' '[')1$(printf "%${n}s" | tr ' ' ']')
    printf '{"session":1,"id":"a","x":%s,"ops":[["w","x",1]]}\n' "$deep" > "$TMP/h.jsonl"
    "$RATEL" convert -q --to edn-rw "$TMP/h.jsonl" "$TMP/h.edn"
    "$RATEL" stat -q "$TMP/h.edn" > "$TMP/stat" 2>&1; echo "$n $? $(tr -cd '[' < "$TMP/h.edn" | wc -c)"
done
