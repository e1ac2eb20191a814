"$RATEL" gen --workload rw-register --txns 6 --sessions 2 --keys 3 --seed 42 --anomaly write-skew
