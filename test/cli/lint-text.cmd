"$RATEL" lint ../litmus/list_ok.jsonl ../litmus/causality_violation.jsonl weak.jsonl
