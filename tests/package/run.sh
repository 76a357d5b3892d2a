#!/bin/bash
# Installs, upgrades, removes and purges the packages of tools/package in a chroot.
#
#   tests/package/run.sh [UPGRADES]     20 upgrades with 200 active runs by default
#
# SKEP_BASE names a tar file of a minimal Debian 12, which is made if it is
# missing. Prints "skipped: why" where it cannot run.
cd "$(dirname "$0")/../.." || exit 1
upgrades=${1:-20} runs=${SKEP_RUNS:-200}
base=${SKEP_BASE:-$PWD/build/package/base.tar}
debs=$PWD/build/package

skip() {
	echo "skipped: $1"
	exit 0
}
[[ $(id -u) -eq 0 ]] || skip "it needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
ls "$debs"/skepd_*.deb >/dev/null 2>&1 || skip "there are no packages; run tools/package deb"

root=$(mktemp -d /var/tmp/skep-package-XXXXXX)
end() {
	chroot "$root" skep down --now >/dev/null 2>&1
	umount -R "$root/proc" "$root/dev" "$root/sys" 2>/dev/null
	grep -q " $root/" /proc/mounts || rm -rf --one-file-system "$root"
}
trap end EXIT
fail() {
	echo "FAILED: $1" >&2
	exit 1
}
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }

if [[ ! -f $base ]]; then
	debootstrap --variant=minbase bookworm "$root" >/dev/null || skip "debootstrap failed"
	tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
else
	tar -C "$root" -xf "$base" || skip "cannot unpack $base"
fi
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
if ! mount -t proc proc "$root/proc"; then
	skip "cannot mount in a chroot"
fi
for dir in dev sys; do
	mount --rbind "/$dir" "$root/$dir" && mount --make-rslave "$root/$dir"
done

# repack N: the packages again, with a newer version.
repack() {
	local n=$1 deb old new
	for deb in "$debs"/skep_*.deb "$debs"/skepd_*.deb; do
		old=$(dpkg-deb -f "$deb" Version)
		new=$old+$n
		rm -rf "$root/tmp/repack"
		dpkg-deb -R "$deb" "$root/tmp/repack"
		sed -i "s/^Version: .*/Version: $new/; s/(= $old)/(= $new)/g; s/(<< $old)/(<< $new)/g" \
			"$root/tmp/repack/DEBIAN/control"
		[[ ! -f $root/tmp/repack/DEBIAN/preinst ]] ||
			sed -i "s/gt \"$old\"/gt \"$new\"/; s/version $old is/version $new is/" \
				"$root/tmp/repack/DEBIAN/preinst"
		dpkg-deb -b "$root/tmp/repack" "$root/tmp/$(dpkg-deb -f "$deb" Package)-$n.deb" >/dev/null
	done
}

active() { inside skep ps --json | grep -cE '"state":"(running|starting)"'; }

echo "install"
cp "$debs"/skep_*.deb "$debs"/skepd_*.deb "$root/tmp/"
inside apt-get -qq update >/dev/null 2>&1 || skip "no Debian mirror"
inside sh -c 'apt-get -qq install -y --no-install-recommends /tmp/skep_*.deb /tmp/skepd_*.deb' \
	>"$debs/install.log" 2>&1 || { tail "$debs/install.log"; fail "install"; }
inside getent passwd skep >/dev/null || fail "there is no user skep"
inside test -f /lib/systemd/system/skepd.service -o -f /usr/lib/systemd/system/skepd.service ||
	fail "there is no system unit"
inside test -f /usr/lib/systemd/user/skepd.service || fail "there is no user unit"
inside test -f /usr/share/man/man1/skep.1.gz -a -f /usr/share/man/man8/skepd.8.gz || fail "man pages"
inside test -f /usr/share/bash-completion/completions/skep || fail "completions"

echo "start $runs runs"
inside skep agent add s --driver script >/dev/null || fail "agent add"
inside skep config set run.per_agent 1000 >/dev/null
inside skep up >/dev/null || fail "up"
for ((i = 0; i < runs; i++)); do
	inside skep run s '[{"sleep_ms": 3600000}]' >/dev/null || fail "run $i"
done
for ((i = 0; i < 60; i++)); do
	[[ $(active) -eq $runs ]] && break
	sleep 1
done
[[ $(active) -eq $runs ]] || fail "only $(active) of $runs runs are active"

for ((n = 1; n <= upgrades; n++)); do
	repack "$n"
	inside dpkg -i "/tmp/skep-$n.deb" "/tmp/skepd-$n.deb" >"$debs/upgrade.log" 2>&1 ||
		{ cat "$debs/upgrade.log"; fail "upgrade $n"; }
	inside skep restart >/dev/null || fail "restart after upgrade $n"
	[[ $(active) -eq $runs ]] || fail "after upgrade $n only $(active) of $runs runs are active"
	echo "upgrade $n of $upgrades: $runs runs continue"
	rm -f "$root"/tmp/*-"$((n - 1))".deb
done

echo "downgrade"
if inside sh -c 'dpkg -i /tmp/skepd_*.deb' >"$debs/downgrade.log" 2>&1; then
	fail "a downgrade was accepted"
fi
grep -q "is older than the installed version" "$debs/downgrade.log" ||
	{ cat "$debs/downgrade.log"; fail "the reason is missing"; }
[[ $(active) -eq $runs ]] || fail "the refused downgrade ended runs"

echo "remove and purge"
inside skep down --now >/dev/null
inside sh -c 'mkdir -p /var/lib/skep && touch /var/lib/skep/data'
inside dpkg -r skep skepd >/dev/null 2>&1 || fail "remove"
inside test -f /var/lib/skep/data || fail "remove deleted data"
inside test ! -e /usr/bin/skepd || fail "remove left a program"
inside dpkg -P skep skepd >/dev/null 2>&1 || fail "purge"
inside test ! -e /var/lib/skep || fail "purge left data"
echo "1 passed, 0 failed, 0 skipped"
