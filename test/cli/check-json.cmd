"$RATEL" check --json --deterministic -q --level rc,causal ../litmus/long_fork.jsonl ../litmus/causality_violation.jsonl
