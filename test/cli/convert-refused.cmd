cd "$TMP" && echo old >out.txt
"$RATEL" convert --to text "$SRC/test/litmus/list_ok.jsonl" out.txt; echo "$?"; cat out.txt; ls -A
"$RATEL" convert --to text "$SRC/test/litmus/list_ok.jsonl" -; echo "$?"
printf '%s\n' '{"session":1,"ops":[["w","x",1],["d","x"],["scan",null,null,[]]]}' '{"session":2,"status":"aborted","ops":[["w","y",1]]}' >h.jsonl
for f in awdit-test cobra dbcop dbcop-hist edn-rw elle-json viper veristrong-la ratel-bin; do "$RATEL" convert --to $f h.jsonl out-$f 2>&1; echo "$f $?"; done; ls -A
