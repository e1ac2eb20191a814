"$RATEL" check weak.jsonl
