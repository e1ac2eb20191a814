"$RATEL" check -q --level rc no-such-file ../litmus/g1a_aborted_read.jsonl ../litmus/lost_update.jsonl
