// A driver for `ratel run --db 'exec:go run drivers/sample.go'`, short enough to copy: a store in
// memory whose transactions read the newest rows, buffer their writes, and are validated at commit, so
// that they are serializable.  doc/drivers.md describes the protocol.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type row struct {
	value   int64
	version int64 // of the commit that wrote it; a row that is not there has version 0
}

type request struct {
	Id, Session, Key, Value int64
	Op, Isolation           string
	Rows                    [][2]int64
}

type transaction struct {
	writes map[int64]int64
	reads  map[int64]int64 // the version that was read first
}

var rows = map[int64]row{}
var open = map[int64]*transaction{}
var clock int64

func read(t *transaction, key int64) any {
	if v, mine := t.writes[key]; mine {
		return v
	}
	r, there := rows[key]
	if _, again := t.reads[key]; !again { // the first version counts: a second one is refused
		t.reads[key] = r.version
	}
	if !there {
		return nil
	}
	return r.value
}

// Nothing that was read may have changed; the values are then those of one moment, this one.
func commit(t *transaction) bool {
	for key, version := range t.reads {
		if rows[key].version != version {
			return false
		}
	}
	clock++
	for key, value := range t.writes {
		rows[key] = row{value, clock}
	}
	return true
}

func answer(q request) map[string]any {
	done := map[string]any{"answer": "done"}
	t := open[q.Session]
	switch q.Op {
	case "hello":
		level := map[string]string{"level": "serializable", "source": "the head of sample.go"}
		return map[string]any{"answer": "done", "protocol": 1, "driver": "sample.go",
			"engine": "sample", "version": "1", "isolations": []string{"serializable"},
			"operations": []string{"get", "put"}, "sessions": "many", "data": "child",
			"contracts": map[string]any{"serializable": level}}
	case "setup":
		rows = map[int64]row{}
	case "load":
		for _, r := range q.Rows {
			rows[r[0]] = row{r[1], 0}
		}
	case "teardown", "connect", "disconnect":
	case "begin":
		if q.Isolation != "serializable" {
			return map[string]any{"answer": "failed", "error": "no level " + q.Isolation}
		}
		open[q.Session] = &transaction{map[int64]int64{}, map[int64]int64{}}
	case "get":
		done["value"] = read(t, q.Key)
	case "put":
		t.writes[q.Key] = q.Value
	case "commit":
		if !commit(t) {
			return map[string]any{"answer": "refused", "error": "something that was read has changed"}
		}
	case "abort":
		delete(open, q.Session)
	default:
		return map[string]any{"answer": "failed", "error": "no operation " + q.Op}
	}
	return done
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	for lines.Scan() {
		var q request
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		a := answer(q)
		a["id"] = q.Id
		text, _ := json.Marshal(a)
		fmt.Println(string(text))
	}
}
