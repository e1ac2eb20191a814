"$RATEL" stat no-such-file
