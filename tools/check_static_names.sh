#!/bin/sh
# Fails if more than five files have a static function of the same name: a name
# that fits so many places does not say what the function acts on.
cd "$(dirname "$0")/.." || exit 1
found=$(git ls-files -co --exclude-standard '*.c' '*.h' |
	xargs grep -soE '^(__attribute__.* )?static [^=(;]*[ *][a-z0-9_]+\(' |
	sed -E 's/:.*[ *]([a-z0-9_]+)\($/ \1/' | sort -u |
	awk '{ files[$2]++ }
	END { for (n in files) if (files[n] > 5) print files[n], n }' | sort -rn)
[ -z "$found" ] && exit 0
echo "static functions that bear the same name, with the number of files:"
echo "$found"
exit 1
