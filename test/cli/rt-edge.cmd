"$RATEL" check -q --recheck -l generalized-snapshot-isolation --session-order off rt-edge.jsonl
