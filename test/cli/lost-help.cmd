[ -w /dev/full ] || { echo "--help 4"; echo "help check 4"; echo "--version 4"; exit; }
for a in --help "help check" --version; do "$RATEL" $a > /dev/full; echo "$a $?"; done
