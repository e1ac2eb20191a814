printf '{"session":1,"ops":[["w","x",1]]}\n{"session":1,"ops":[["w","x",}\n' | "$RATEL" check --level rc -
