"$RATEL" gen --workload list-append --txns 6 --sessions 4 --seed 42 --anomaly long-fork -o "$TMP/h.jsonl" && cat "$TMP/h.jsonl.truth.json"
