# A number that is out of range is told with the range.
h="$SRC/test/litmus/list_ok.jsonl"
for o in threads=99 threads=0 portfolio=65 drift=9223372036854775808 memory=99999999999999999999 seed=99999999999999999999 time=0; do
    "$RATEL" check --${o%=*} ${o#*=} "$h"; echo "$?"
done
"$RATEL" convert --memory 9223372036854775808 --to text "$h" -; echo "$?"
