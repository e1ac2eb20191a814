"$RATEL" lint --json ../litmus/list_ok.jsonl weak.jsonl
