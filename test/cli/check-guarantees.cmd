for f in ryw_violation monotonic_reads monotonic_writes writes_follow_reads; do
    "$RATEL" check -q --json --deterministic --level ryw,monotonic-reads,monotonic-writes,wfr ../litmus/session_$f.jsonl |
        sed 's/.*"history":"..[^"]*session_\([^"]*\)".*"level":"\([^"]*\)".*"verdict":"\([^"]*\)".*/\1 \2 \3/'
done
