#!/bin/sh
# Fails if a source directory has no README.md, or if a README.md does not begin
# with the title "# PATH: …" and these three lines:
#
#	This directory …
#	It may include …        as tools/deps.txt says; or: It contains no C code.
#	Start with …
#
# Files that a README.md names must exist.
# Every directory of the first and second level with source files needs one, and
# so does a deeper one with more than five files. Text is at most 100 columns
# wide, except in tables and examples. The READMEs of examples are for users.
cd "$(dirname "$0")/.." || exit 1
found=$(git ls-files -co --exclude-standard | while read -r file; do
	[ -e "$file" ] && echo "$file"
done | LC_ALL=C awk '
	BEGIN {
		while ((getline line < "tools/deps.txt") > 0) {
			if (line ~ /^#/ || line !~ /:/) continue
			split(line, side, ":"); gsub(/ /, "", side[1])
			may[side[1]] = side[2]
		}
	}
	{ for (path = $0; path != ""; path = directory(path)) there[path] = 1 }
	/^\./ || /^tests\/fuzz\/corpus\// || /^examples\/.*\// || !/\// { next }
	/\/README\.md$/ { sub(/\/README\.md$/, ""); readme[$0] = 1; next }
	/\.(c|h|def|sql|py|sh|js|mjs|cmake)$/ {
		path = directory($0)
		files[path]++
		for (c = /\.[ch]$/; path != ""; path = directory(path))
			code[path] += c
	}
	function directory(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
	# The second line, from the rule of the longest prefix in tools/deps.txt.
	function expected(path,  rule, list, n, i, text) {
		if (!code[path]) return "It contains no C code."
		for (rule = path; rule != "" && !(rule in may); )
			rule = directory(rule)
		if (rule != "" && rule != path)
			return "It may include `" rule "` and what `" rule "` may include."
		n = split(may[rule], list, " ")
		if (!n) return "It may include nothing else of skep."
		text = "`" list[1] "`"
		for (i = 2; i <= n; i++)
			text = text (i < n ? ", " : " and ") "`" list[i] "`"
		return "It may include " text "."
	}
	function bad(where, why) { print where ": " why; failed = 1 }
	function begins(text, start) { return index(text, start) == 1 }
	function exists(name) { sub(/\/$/, "", name); return name in there }
	function columns(text) { gsub(/[\200-\277]/, "", text); return length(text) }
	# Names in backquotes are files of the directory, or paths from the top;
	# with `only`, this holds for names that end like a source file.
	function names(where, path, text, only,  name) {
		while (match(text, /`[^`]+`/)) {
			name = substr(text, RSTART + 1, RLENGTH - 2)
			text = substr(text, RSTART + RLENGTH)
			if (only && name !~ /^[a-z0-9_.\/-]+\.(c|h|def|sql|py|sh|txt|cmake)$/)
				continue
			if (!exists(path "/" name) && !exists(name))
				bad(where, name " does not exist")
		}
	}
	function check(path,  file, line, n, example) {
		file = path "/README.md"
		for (n = 1; (getline line < file) > 0; n++) {
			if (line ~ /^```/) example = !example
			if (n == 1 && !begins(line, "# " path ": "))
				bad(file ":1", "write the title \"# " path ": …\"")
			if (n == 3 && !begins(line, "This directory "))
				bad(file ":3", "write \"This directory …\"")
			if (n == 4 && !begins(line, expected(path)))
				bad(file ":4", "write \"" expected(path) "\"")
			if (n == 5 && !begins(line, "Start with "))
				bad(file ":5", "write \"Start with …\"")
			if (n == 5) names(file ":5", path, line, 0)
			else if (!example) names(file ":" n, path, line, 1)
			if (line !~ /^\|/ && !example && columns(line) > 100)
				bad(file ":" n, "is wider than 100 columns")
		}
		if (n < 6) bad(file, "has fewer than five lines")
		close(file)
	}
	END {
		for (path in files)
			if ((gsub(/\//, "/", path) < 2 || files[path] > 5) &&
			    !(path in readme))
				bad(path, "has no README.md")
		for (path in readme) check(path)
		exit failed
	}') && exit 0
echo "$found" | LC_ALL=C sort
exit 1
