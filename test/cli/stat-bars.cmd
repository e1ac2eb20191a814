COLUMNS=80 "$RATEL" stat -v weak.jsonl ../litmus/list_ok.jsonl
