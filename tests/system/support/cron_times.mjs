// Prints, for each line {"cron", "zone", "from", "to"} of the input, the times of
// two libraries: {"croner": [seconds, …], "parser": [seconds, …]}.
import { createInterface } from "node:readline";
import { Cron } from "croner";
import * as parser from "cron-parser";

const { CronExpressionParser } = parser.default ?? parser;

function* cronerTimes(q) {
  const job = new Cron(q.cron, { timezone: q.zone });
  for (let at = job.nextRun(new Date(q.from)); at; at = job.nextRun(at)) yield at;
}

function* parserTimes(q) {
  const it = CronExpressionParser.parse(q.cron, {
    tz: q.zone, currentDate: new Date(q.from) });
  for (;;) yield it.next().toDate();
}

function collect(times, to) {
  const list = [];
  for (const at of times) {
    if (at.getTime() > to) break;
    list.push(at.getTime() / 1000);
  }
  return list;
}

for await (const line of createInterface({ input: process.stdin })) {
  const q = JSON.parse(line);
  console.log(JSON.stringify({
    croner: collect(cronerTimes(q), q.to), parser: collect(parserTimes(q), q.to) }));
}
