"$RATEL" convert -q --to edn-la ../litmus/list_ok.jsonl -
