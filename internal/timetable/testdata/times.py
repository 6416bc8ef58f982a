# Makes times.tsv, the times after which cron expressions come next over changes of
# clocks, without the program's own code: it walks from minute to minute of UTC, asks
# Python's zoneinfo what clocks show, and compares the fields.
#
#     python3 internal/timetable/testdata/times.py > internal/timetable/testdata/times.tsv
import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
LOWEST = [0, 0, 1, 1, 0]
HIGHEST = [59, 23, 31, 12, 7]

# Days around which clocks change, or something else is odd: forward, backward.
ZONES = {
    "Europe/Berlin": ["2025-03-30", "2025-10-26", "2026-03-29", "2026-10-25"],
    "America/New_York": ["2025-03-09", "2025-11-02", "2026-03-08", "2026-11-01"],
    "Australia/Lord_Howe": ["2025-04-06", "2025-10-05", "2024-04-07", "2024-10-06"],  # by half an hour
    "America/Sao_Paulo": ["2017-10-15", "2018-02-18", "2018-11-04", "2019-02-17"],  # at midnight
    "Africa/Cairo": ["2023-04-28", "2023-10-27", "2014-05-16", "2014-06-27"],  # at midnight; twice a year
    "Asia/Tehran": ["2021-03-22", "2021-09-22", "2022-03-22", "2022-09-22"],
    "Pacific/Apia": ["2011-12-30", "2011-04-02", "2011-09-24", "2012-04-01"],  # without the first of these days
    "UTC": ["2026-03-29", "2024-02-29", "2026-12-31", "2026-02-28"],
}

FIXED = ["0 0 * * *", "30 0 * * *", "0 1 * * *", "30 1 * * *", "45 1 * * *", "0 2 * * *", "15 2 * * *", "30 2 * * *", "59 2 * * *", "0 3 * * *",
         "30 2 * * 0", "0,30 0-3 * * *", "*/10 2 * * *", "5/20 0,1,2 * * *", "0 2,3 * * 6,7", "45 23 * * *", "0 12 * * 1-5", "20 2 29-31 3,10 *",
         "30 2 1 * 0", "10 0 */2 * *", "0 0 30 * 5", "17 1-2 * * */3", "0 0 1 1 *"]
PASSING = ["* * * * *", "0 * * * *", "30 * * * *", "*/15 * * * *", "*/40 */2 * * *", "0 0-23/3 * * *", "15 1/2 * * *", "30 */1 * * 0", "59 * 30 * *"]


def values(i, text):
    out = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            a, b = LOWEST[i], HIGHEST[i]
        elif "-" in span:
            a, b = map(int, span.split("-"))
        else:
            a = int(span)
            b = HIGHEST[i] if step else a
        out |= set(range(a, b + 1, int(step or 1)))
    return {v % 7 for v in out} if i == 4 else out


class Cron:
    def __init__(self, text):
        fields = text.split()
        self.sets = [values(i, f) for i, f in enumerate(fields)]
        self.both = fields[2].startswith("*") or fields[4].startswith("*")
        self.passing = "*" in fields[1] or "/" in fields[1]

    def shown(self, clock):
        minute, hour, day, month, week = self.sets
        days = [clock.day in day, clock.isoweekday() % 7 in week]
        return clock.minute in minute and clock.hour in hour and clock.month in month and (all(days) if self.both else any(days))

    def next(self, after, zone):
        def clock(at):
            return at.astimezone(zone).replace(tzinfo=None, fold=0)

        at = after.replace(second=0, microsecond=0) + MINUTE
        for _ in range(400 * 24 * 60):
            now, before = clock(at), clock(at - MINUTE)
            if self.passing:
                if self.shown(now):
                    return at
            else:
                skipped = before + MINUTE
                while skipped < now:
                    if self.shown(skipped):
                        return at
                    skipped += MINUTE
                if at.astimezone(zone).fold == 0 and self.shown(now):
                    return at
            at += MINUTE
        raise ValueError("no time within 400 days")


def main():
    draw = random.Random(17)
    print("# expression, zone, moment, next. Made by times.py")
    for name, days in ZONES.items():
        zone = ZoneInfo(name)
        for day in days:
            noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=timezone.utc)
            for text in draw.sample(FIXED, 14) + draw.sample(PASSING, 5):
                cron = Cron(text)
                after = noon + timedelta(seconds=draw.randrange(-36 * 3600, 12 * 3600))
                # Two in a row, as a schedule has them.
                for _ in range(2):
                    then = cron.next(after, zone)
                    print("\t".join([text, name, after.strftime("%Y-%m-%dT%H:%M:%SZ"), then.strftime("%Y-%m-%dT%H:%M:%SZ")]))
                    after = then


main()
