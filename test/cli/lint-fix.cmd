"$RATEL" lint --fix -o "$TMP/fixed.jsonl" weak.jsonl; echo "exit $?"; cat "$TMP/fixed.jsonl"
