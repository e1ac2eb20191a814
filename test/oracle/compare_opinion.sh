#!/bin/sh
# compare_opinion.sh - the oracle against opinion.py on random histories.
#
#   compare_opinion.sh [ORACLE [N [SEED]]]    (default: ./oracle, 450 histories, seed 1)
#
# Prints every disagreement with seed and profile (oracle --random SEED PROFILE shows the history),
# what was skipped and why, and last "N passed, N failed".  Exit status 1 if any failed or nothing
# was compared.
set -eu
here=$(dirname "$0")
oracle=${1:-$here/oracle}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$oracle" --questions "${2:-450}" "${3:-1}" > "$work/questions"
python3 "$here/opinion.py" < "$work/questions" > "$work/answers"
python3 - "$work/questions" "$work/answers" <<'PY'
import collections, json, sys
passed = failed = 0
skipped = collections.Counter()
questions, answers = open(sys.argv[1]).readlines(), open(sys.argv[2]).read().splitlines()
if len(questions) != len(answers):
    sys.exit("opinion.py answered %d of %d questions" % (len(answers), len(questions)))
for line, answer in zip(questions, answers):
    q = json.loads(line)
    if answer.startswith("skip"):
        skipped[answer] += 1
    elif answer == q["oracle"].split()[0]:
        passed += 1
    else:
        failed += 1
        print("seed %d %s: %s session-order=%s ryow=%s drift=%d: oracle %s, opinion %s" % (
            q["seed"], q["profile"], q["level"], q["session_order"], q["ryow"], q["drift"],
            q["oracle"], answer))
for reason, n in sorted(skipped.items()):
    print("%s: %d" % (reason, n))
print("%d passed, %d failed" % (passed, failed))
sys.exit(failed > 0 or passed == 0)
PY
