"$RATEL" --version
