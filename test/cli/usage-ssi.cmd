for c in "check ../litmus/lost_update.jsonl" "explain ../litmus/lost_update.jsonl" "shrink ../litmus/lost_update.jsonl" "audit none.jsonl"; do
    "$RATEL" $c --level ssi; echo $?
done
"$RATEL" check --level SSI ../litmus/lost_update.jsonl; echo $?
"$RATEL" levels ssi; echo $?
"$RATEL" synth --allow ssi; echo $?
