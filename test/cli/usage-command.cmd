"$RATEL" chekc x.jsonl
