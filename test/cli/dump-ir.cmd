"$RATEL" check -q --dump ir -l ser,si,consistent-view dump.jsonl; "$RATEL" check -q --dump ir -l strict-serializable ../litmus/delete_reinsert_realtime.jsonl
