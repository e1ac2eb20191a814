printf '{"session":1,"ops":7}\n' | "$RATEL" check --json --level rc,ra -
