"$RATEL" check -q --dump asg dump.jsonl
