"$RATEL" check -q --dump asg two-choices.jsonl
