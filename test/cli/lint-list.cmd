"$RATEL" lint --list
