"$RATEL" shrink --level si -o "$TMP/part.jsonl" ../litmus/list_lost_append.jsonl; echo "exit $?"; cat "$TMP/part.jsonl"
"$RATEL" shrink --level si --json --deterministic -o "$TMP/part.jsonl" ../litmus/list_lost_append.jsonl | sed "s|$TMP/||"
"$RATEL" shrink -o "$TMP/none" ../litmus/ok_serial.jsonl; echo "exit $?"; ls "$TMP/none" 2>&1 | sed 's/.*: //'
