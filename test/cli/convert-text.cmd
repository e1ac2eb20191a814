"$RATEL" convert -q --to text ../litmus/lost_update.jsonl -
