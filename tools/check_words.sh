#!/bin/sh
# Fails if a file name, code, SQL, a help text or a document uses a word of the
# last column of docs/GLOSSARY.md, or if a term there has no such word. A space in
# a word also stands for "_" and "-"; a word that ends in "_" is a prefix of
# identifiers. tools/word_exceptions.txt lists where a word means something else.
cd "$(dirname "$0")/.." || exit 1
rows=$(awk -F'|' '/^\|/ && $2 !~ /^ *term *$|^-+$/ {
	gsub(/^ +| +$/, "", $2); gsub(/^ +| +$/, "", $4); print $2 "|" $4
}' docs/GLOSSARY.md)
words=$(echo "$rows" | cut -d'|' -f2 | tr ',' '\n' | sed 's/^ *//' | grep .)
none=$(echo "$rows" | grep '|$')
whole=$(echo "$words" | grep -v '_$' | sed 's/[ ]/[ _-]/g' | paste -sd'|')
prefix=$(echo "$words" | grep '_$' | paste -sd'|')
pattern="(^|[^a-z])($whole)s?([^a-z]|\$)|(^|[^a-z0-9_])($prefix)"

# PATH:LINE:WORD for each use; the line of a file name is 0
uses() {
	git grep --untracked -noIiE "$pattern" -- '*.c' '*.h' '*.def' '*.sql' \
		'*.py' '*.md' tests/golden tests/system/slow.txt
	git ls-files -co --exclude-standard | grep -v /corpus/ |
		grep -iE "$pattern" | sed 's/.*/&:0:&/'
}
found=$(uses | awk '
	BEGIN {
		while ((getline line < "tools/word_exceptions.txt") > 0)
			if (line !~ /^#/ && split(line, f, " ") > 2) {
				path[++n] = f[1]
				word[n] = f[2]
			}
	}
	{
		for (i = 1; i <= n; i++)
			if (index($0, path[i]) == 1 &&
			    (word[i] == "*" || index(tolower($0), word[i])))
				next
		print
	}')
[ -n "$none" ] && echo "docs/GLOSSARY.md: without a word that we do not use: $none"
[ -n "$found" ] && echo "$found" | head -n 40 &&
	echo "docs/GLOSSARY.md has the words to use instead"
[ -z "$none$found" ]
