# Bytes that cannot be read are an I/O error, not the end of the history.
"$RATEL" check -q --time 5 /proc/self/mem 2>&1; echo "exit $?"
"$RATEL" stat --time 5 /proc/self/mem 2>&1; echo "exit $?"
