"$RATEL" check -q --recheck --ryow external own-overwritten.jsonl; "$RATEL" explain -q --ryow external -l ser own-overwritten.jsonl | grep -e "In short" -e "forbids"
