"$RATEL" check -q --level causal ../litmus/causality_violation.jsonl
