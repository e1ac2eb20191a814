"$RATEL" check -q --level rc ../litmus/g0_dirty_write_list.jsonl
