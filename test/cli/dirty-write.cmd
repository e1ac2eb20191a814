"$RATEL" check -q --recheck -l ru,realtime-ru,realtime-rc dirty-write.jsonl; echo "exit $?"
