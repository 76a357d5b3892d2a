#!/bin/sh
# Fails if a file or an identifier is named by a word that docs/GLOSSARY.md lists
# in its last column. A word that ends in "_" is a prefix of identifiers.
cd "$(dirname "$0")/.." || exit 1
words=$(awk -F'|' '/^\|/ && $4 !~ /not|---/ { print $4 }' docs/GLOSSARY.md |
	tr -s ' ' '\n' | grep .)
whole=$(echo "$words" | grep -v '_$' | paste -sd'|')
prefix=$(echo "$words" | grep '_$' | paste -sd'|')
files=$(git ls-files -co --exclude-standard '*.c' '*.h' '*.def' '*.sql')
found=$(
	echo "$files" | grep -iE "(^|[/_])($whole)s?[_.]"
	echo "$files" | xargs grep -nowiE \
		"([a-z0-9]+_)*($whole)s?(_[a-z0-9]+)*|($prefix)[a-z0-9_]+"
)
[ -z "$found" ] && exit 0
echo "$found" | head -n 40
echo "docs/GLOSSARY.md has the words to use instead"
exit 1
