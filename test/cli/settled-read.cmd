# Ambiguous reads of which one candidate is left before the search: the order found must keep them.
for w in random-range random-bench; do
    for seed in 2 4 7; do
        "$RATEL" gen -w $w -i repeatable-read -n 300 -s 12 -k 500 --seed $seed --no-times -q --truth /dev/null -o "$TMP/h.jsonl"
        "$RATEL" check -q -l repeatable-read,cursor-stability "$TMP/h.jsonl" | sed 's|.*/h.jsonl: \([^ ]*\).*: \([a-z]*\).*|\1 \2|'
    done
done
