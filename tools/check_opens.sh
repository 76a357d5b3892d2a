#!/bin/sh
# Fails if a file outside db/ opens files in a place that tools/opens.txt does not
# list. Closing a descriptor of a database, or of its -shm, drops all locks that the
# process has there; so each place is either known never to be given a database,
# or opens with held_open (base/held.h).
cd "$(dirname "$0")/.." || exit 1
git ls-files -co --exclude-standard '*.c' |
grep -vE '^(db|tests|tools|bench)/' |
xargs grep -cE '(^|[^a-z_>.])((open|openat|fopen|creat)\(|SYS_openat)' |
awk -F: '
	BEGIN {
		while ((getline line < "tools/opens.txt") > 0) {
			if (line ~ /^#/ || line == "") continue
			split(line, w, " "); want[w[1]] = w[2]
		}
	}
	$2 > 0 && !($1 in want) { print $1 ": opens files: use held_open, or say in tools/opens.txt why it is never given a database"; bad = 1; next }
	$2 > 0 && $2 + 0 > want[$1] + 0 { print $1 ": opens files in " $2 " places, tools/opens.txt has " want[$1]; bad = 1 }
	{ seen[$1] = $2 }
	END {
		for (f in want)
			if (!(f in seen)) { print "tools/opens.txt: there is no " f; bad = 1 }
		exit bad
	}'
