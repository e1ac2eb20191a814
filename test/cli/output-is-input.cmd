# Whatever option writes: it replaces neither what the command reads nor what another option writes.
cd "$TMP"
h() { printf '%s\n' '{"session":1,"id":"a","ops":[["w","x",1]]}' > h.jsonl; }
h; ln -s h.jsonl link; mkdir d
echo '{"txn":"a","session":1,"sql":[]}' > l.sql.jsonl
printf 'level mine\nextends causal\n' > mine.iso
no() { "$RATEL" "$@" > out 2> err; echo "$? $(cat err)"; }
no check --certificate h.jsonl h.jsonl
no check --certificate link d/../h.jsonl
no check --html link h.jsonl
no check --level causal,./mine.iso -o mine.iso h.jsonl
no audit --witness l.sql.jsonl l.sql.jsonl
no audit --shrink l.sql.jsonl l.sql.jsonl
no gen --txns 2 -o d/new --truth ./d/new
no check --junit x --sarif ./x h.jsonl
no synth --allow mine.iso --forbid ser -o mine.iso
no verify --definition mine.iso -o mine.iso h.jsonl h.jsonl
head -1 mine.iso; cat h.jsonl l.sql.jsonl; ls d
