"$RATEL" levels causal
