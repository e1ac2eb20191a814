"$RATEL" stat --json ../litmus/list_ok.jsonl ../litmus/iter_write_skew.jsonl
