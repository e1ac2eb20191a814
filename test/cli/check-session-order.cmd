"$RATEL" check -q --session-order off --level causal ../litmus/session_monotonic_reads.jsonl; "$RATEL" check -q --level causal ../litmus/session_monotonic_reads.jsonl
