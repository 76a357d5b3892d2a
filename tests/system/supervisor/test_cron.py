"""Cron expressions across changes of the clock, compared with two libraries from
npm and with an enumeration of all minutes."""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import zoneinfo

import lib
import npm_lib

ZONES = ("Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata",
         "Australia/Lord_Howe", "Pacific/Auckland", "America/St_Johns", "Africa/Cairo",
         "Asia/Tehran", "Africa/Casablanca", "Pacific/Apia", "UTC")
CRONS = ("30 2 * * *", "0 0 * * *", "15 1,3 * * 0", "0 9 * * 1-5", "59 23 L * *",
         "0 12 13 * 5", "5 0 29 2 *")
FINE = ("*/30 * * * *", "7 * * * *")  # of one year, since they are many
BIG = os.environ.get("SKEP_TEST_BIG")
LONG = (2010, 2030) if BIG else (2023, 2026)
SHORT = (2024, 2025)


def ms(year):
    return int(datetime.datetime(year, 1, 1, tzinfo=datetime.timezone.utc)
               .timestamp() * 1000)


def years_of(cron):
    return SHORT if cron in FINE else LONG


def ours(home, cron, zone):
    years = years_of(cron)
    days = (years[1] - years[0]) * 366
    count = days * (24 * 2 + 1 if cron in FINE else 3)
    got = home.skep("schedule", "next", "--cron", cron, "--zone", zone, "--from",
                    "%d-01-01T00:00:00Z" % years[0], "--count", str(count),
                    "--json").lines
    times = [r["slot"] // 1000 for r in got if r["slot"] <= ms(years[1])]
    assert times == sorted(set(times)), (cron, zone)
    return set(times)


def test_cron_times_are_those_of_an_enumeration(home):
    home.skep("agent", "add", "a", "--driver", "script")
    for zone in ZONES:
        for cron in CRONS + FINE:
            wrong = ours(home, cron, zone) ^ set(
                (enumerate_minutes if cron in FINE else enumerate_days)(cron, zone))
            assert not wrong, (cron, zone, sorted(wrong)[:5])


# --- two libraries --------------------------------------------------------

def changing(zone, times):
    """The times within a day of a change of the offset of the zone."""
    z = zoneinfo.ZoneInfo(zone)

    def offset(t):
        return datetime.datetime.fromtimestamp(t, z).utcoffset()
    return {t for t in times if offset(t - 90000) != offset(t + 90000)}


def library_times(zone):
    """Of all expressions; they take a minute, and are kept."""
    where = npm_lib.packages("croner@9", "cron-parser@5")
    kept = where / ("%s.json" % zone.replace("/", "-"))
    if not kept.exists():
        here = pathlib.Path(npm_lib.__file__).with_name("cron_times.mjs")
        shutil.copy(here, where / here.name)
        lines = "\n".join(json.dumps({
            "cron": c, "zone": zone, "from": ms(years_of(c)[0]),
            "to": ms(years_of(c)[1])}) for c in CRONS + FINE)
        p = subprocess.run(["node", here.name], cwd=where, input=lines, text=True,
                           capture_output=True, timeout=600)
        assert p.returncode == 0, p.stderr
        kept.write_text("[%s]" % ",".join(p.stdout.splitlines()))
    return json.loads(kept.read_text())


def make(zone):
    def test(home):
        """On days without a change of the clock, all agree. croner chooses the
        second of two equal times, cron-parser the first, as we do."""
        if not BIG:
            lib.skip("SKEP_TEST_BIG=1 compares 20 years, a minute per zone")
        home.skep("agent", "add", "a", "--driver", "script")
        for cron, theirs in zip(CRONS + FINE, library_times(zone)):
            mine = ours(home, cron, zone)
            odd = mine ^ set(theirs["croner"])
            plain = odd - changing(zone, odd)
            assert not plain, (cron, "croner", sorted(plain)[:5])
            odd = mine ^ set(theirs["parser"])
            plain = odd - changing(zone, odd)
            assert not plain, (cron, "cron-parser", sorted(plain)[:5])
            if odd:
                print("%s %s: %d times of cron-parser differ at a change: %s" % (
                    zone, cron, len(odd), sorted(odd)[:4]))
    test.seconds = 600
    return test


for _zone in ZONES:
    globals()["test_cron_times_match_two_libraries_in_"
              + _zone.lower().replace("/", "_")] = make(_zone)


# --- an implementation of our own rule, by enumeration --------------------

def values(field, low, high):
    got = set()
    for item in field.split(","):
        item, _, step = item.partition("/")
        first, _, last = item.partition("-")
        if item == "*":
            first, last = low, high
        got |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    return got


def matches(day, dom, month, dow):
    if day.month not in values(month, 1, 12):
        return False
    last = (day + datetime.timedelta(1)).month != day.month
    by_day = last if dom == "L" else day.day in values(dom, 1, 31)
    by_week = day.isoweekday() % 7 in {v % 7 for v in values(dow, 0, 7)}
    if dom == "*" or dow == "*":
        return (dom == "*" or by_day) and (dow == "*" or by_week)
    return by_day or by_week


def enumerate_days(cron, zone):
    """With fold=0, Python reads a time that does not exist with the offset before
    the change, and one that exists twice as the first."""
    years = years_of(cron)
    minute, hour, dom, month, dow = cron.split()
    z = zoneinfo.ZoneInfo(zone)
    day = datetime.date(years[0] - 1, 12, 31)
    end = datetime.date(years[1], 1, 2)
    while day < end:
        if matches(day, dom, month, dow):
            for h in sorted(values(hour, 0, 23)):
                for m in sorted(values(minute, 0, 59)):
                    at = datetime.datetime(day.year, day.month, day.day, h, m,
                                           tzinfo=z).timestamp()
                    if ms(years[0]) < at * 1000 <= ms(years[1]):
                        yield int(at)
        day += datetime.timedelta(1)


def enumerate_minutes(cron, zone):
    """An expression with every hour: what the clock shows at each minute."""
    minutes = values(cron.split()[0], 0, 59)
    z = zoneinfo.ZoneInfo(zone)
    end = ms(SHORT[1]) // 1000
    for half in range(ms(SHORT[0]) // 1000, end + 1, 1800):  # no zone changes within
        offset = int(datetime.datetime.fromtimestamp(half, z).utcoffset()
                     .total_seconds())
        for at in range(half, half + 1800, 60):
            if (at + offset) // 60 % 60 in minutes and ms(SHORT[0]) < at * 1000 <= (
                    ms(SHORT[1])):
                yield at
