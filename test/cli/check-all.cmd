"$RATEL" check -q --level all ../litmus/long_fork.jsonl | tail -n 24
