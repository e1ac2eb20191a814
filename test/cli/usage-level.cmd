"$RATEL" check --level serialisable x.jsonl
