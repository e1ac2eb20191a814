# The help of a command explains its options for this command, and not for others that have them, too.
commands=$("$RATEL" help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p')
others=$(echo $commands | tr " " "|")
for c in $commands; do
    "$RATEL" help "$c" | sed -n '/^  -/,/^exit/p' | tr -s '\n ' ' ' | grep -oE "(^|[ (])($others)(, ($others))*: .{20}" | sed "s/^/$c:/"
done
echo "$commands" | wc -l
