# shellcheck shell=bash
# What tools/demo and tools/check share. Source it from the top of the tree.

export DEBIAN_FRONTEND=noninteractive
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1 # clones share what is compiled
export CCACHE_DEPEND=1 # no second run of the preprocessor for a new file

# Packages of the groups given that are listed in tools/packages.txt and not
# installed, one a line.
missing_packages() {
	local group package
	while read -r group package; do
		[[ " $* " == *" $group "* ]] || continue
		dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null |
			grep -qx installed || echo "$package"
	done < tools/packages.txt
}

as_root() {
	if [[ $(id -u) -eq 0 ]]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -n "$@"
	else
		return 1
	fi
}

# apt-get, after other users of its locks have finished, such as the automatic
# upgrades of a new machine: at most two minutes.
apt() {
	local try
	for try in {1..24}; do
		as_root apt-get -qq "$@" </dev/null >build/apt.log 2>&1 && return 0
		grep -q 'Could not get lock' build/apt.log || break
		[[ $try -eq 1 ]] && echo "waiting for another apt-get"
		sleep 5
	done
	cat build/apt.log >&2
	return 1
}

# Installs what is missing of the groups given and says what that is.
need_packages() {
	local missing
	mapfile -t missing < <(missing_packages "$@")
	[[ ${#missing[@]} -eq 0 ]] && return 0
	echo "installing: ${missing[*]}"
	mkdir -p build
	apt update && apt install -y --no-install-recommends "${missing[@]}" &&
		return 0
	echo "cannot install them here; as root run:" >&2
	echo "  apt-get install ${missing[*]}" >&2
	return 1
}

# build PRESET [CMAKE-OPTION...] [-- TARGET...]: configures and builds.
build() {
	local preset=$1 options=()
	shift
	while [[ $# -gt 0 && $1 != -- ]]; do
		options+=("$1")
		shift
	done
	[[ $# -gt 0 ]] && shift
	mkdir -p build
	cmake --preset "$preset" "${options[@]}" >"build/$preset.configure" 2>&1 || {
		cat "build/$preset.configure"
		return 1
	}
	cmake --build "build/$preset" -j "$(nproc)" ${1:+--target "$@"} -- -k 0
}
