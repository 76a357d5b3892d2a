#!/bin/sh
# Fails if a file outside lib/db/ opens files in a place that tools/opens.txt does not
# list. Closing a descriptor of a database, or of its -shm, drops all locks that the
# process has there; so each place is either known never to be given a database,
# or opens with open_files_openat (lib/os/open_files.h).
cd "$(dirname "$0")/.." || exit 1
git ls-files -co --exclude-standard '*.c' |
grep -vE '^(lib/db|tests|tools|bench)/' |
xargs awk '
	FNR == 1 { print FILENAME ":0" }
	{
		n = gsub(/(^|[^A-Za-z0-9_>.])(f?open(64)?|openat(2|64)?|freopen(64)?|creat(64)?|uv_fs_open|open_by_handle_at) *\(|SYS_(open|creat)/, "&")
		if (n) print FILENAME ":" n
	}' |
awk -F: '
	BEGIN {
		while ((getline line < "tools/opens.txt") > 0) {
			if (line ~ /^#/ || line == "") continue
			split(line, w, " "); want[w[1]] = w[2]
		}
	}
	{ seen[$1] += $2 }
	END {
		for (f in seen) {
			if (seen[f] == 0) continue
			if (!(f in want)) { print f ": opens files: use open_files_openat, or say in tools/opens.txt why it is never given a database"; bad = 1 }
			else if (seen[f] > want[f] + 0) { print f ": opens files in " seen[f] " places, tools/opens.txt has " want[f]; bad = 1 }
		}
		for (f in want)
			if (!(f in seen)) { print "tools/opens.txt: there is no " f; bad = 1 }
		exit bad
	}'
