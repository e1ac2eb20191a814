exec 2>&1
"$RATEL" check --dump tree dump.jsonl; echo $?
"$RATEL" check --dump asg dump.jsonl dump.jsonl; echo $?
"$RATEL" check --dump asg --json dump.jsonl; echo $?
"$RATEL" check -q --dump ir -l read-uncommitted dump.jsonl; echo $?
"$RATEL" check -q --dump ir ../litmus/garbage_read.jsonl; echo $?
"$RATEL" check -q --dump clauses --strategy polygraph dump.jsonl; echo $?
"$RATEL" check -q --dump asg dump.jsonl -o /dev/full; echo $?
