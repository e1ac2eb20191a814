"$RATEL" check -q --dump asg ../litmus/list_incompatible_order.jsonl; "$RATEL" check -q --dump asg ../litmus/g0_dirty_write_hint.jsonl; "$RATEL" check -q --dump asg ../litmus/iter_write_skew.jsonl
