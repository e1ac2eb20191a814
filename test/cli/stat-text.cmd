"$RATEL" stat ../litmus/list_ok.jsonl
