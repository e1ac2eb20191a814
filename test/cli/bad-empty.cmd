"$RATEL" check /dev/null
