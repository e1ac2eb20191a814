"$RATEL" check --level ru,rc ../litmus/causality_violation.jsonl
