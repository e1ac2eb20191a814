cd "$TMP" && "$RATEL" convert --lossy --to text "$SRC/test/litmus/list_ok.jsonl" out.txt; echo "$?"; "$RATEL" convert --to dbcop "$SRC/test/litmus/lost_update.jsonl" out.bincode; echo "$?"
