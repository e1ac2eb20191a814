"$RATEL" shrink; echo "exit $?"
"$RATEL" shrink --level si,ser ../litmus/long_fork.jsonl; echo "exit $?"
"$RATEL" shrink --json ../litmus/long_fork.jsonl; echo "exit $?"
"$RATEL" shrink --to paper ../litmus/long_fork.jsonl; echo "exit $?"
