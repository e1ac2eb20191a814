# Lists of three elements that are also deleted, and one element of one read is wrong: refuting it
# takes thousands of conflicts, each of them cheap.
"$RATEL" check -q --level read-committed --certificate "$TMP/c" lists-few-wrong.jsonl | head -1
"$RATEL" verify "$TMP/c" lists-few-wrong.jsonl
