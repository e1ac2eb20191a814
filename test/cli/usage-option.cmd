"$RATEL" check --levle rc x.jsonl
