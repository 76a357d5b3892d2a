#!/bin/sh
# Fails if a file includes a folder, or a library, that tools/deps.txt forbids.
cd "$(dirname "$0")/.." || exit 1
git ls-files -co --exclude-standard '*.c' '*.h' '*.def' |
xargs grep -nHE '^[ 	]*#[ 	]*include' |
awk -F: '
	BEGIN {
		while ((getline line < "tools/deps.txt") > 0) {
			if (line ~ /^#/ || line == "") continue
			at = (line ~ /@/) ? "@" : ":"
			split(line, side, at); gsub(/ /, "", side[1])
			n = split(side[2], to, " ")
			for (i = 1; i <= n; i++) ok[side[1], to[i]] = 1
			if (at == "@") lib[side[1]] = 1; else folder[side[1]] = 1
		}
	}
	{
		split($1, path, "/"); me = path[1]; inc = $3
		match(inc, /["<][^">]+/); h = substr(inc, RSTART + 1, RLENGTH - 1)
		split(h, part, "/"); dep = part[1]
		if (inc ~ /"/ && dep in folder && dep != me && !((me, dep) in ok))
			bad($1, $2, me " must not include " dep)
		for (l in lib)
			if (index(h, l) == 1 && !((l, me) in ok))
				bad($1, $2, h " does not belong in " me)
	}
	function bad(f, n, why) { print f ":" n ": " why; failed = 1 }
	END { exit failed }'
