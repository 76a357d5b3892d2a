// Two tabs share one stream; it continues after skepd was killed and after a
// pause, and the page says so.
import {execFileSync} from 'node:child_process';
import {withBrowser, signIn, go, has, until, check, want, base} from './browser.mjs';

const seen = page => page.evaluate(async () => {
	const live = await import('./live.js');
	return new Promise(done => { addEventListener('skep-seen', e => done(e.detail), {once: true}); live.askSeen(); });
});
const call = (page, method, path, body) => page.evaluate(async ([m, p, b]) => (await fetch('../' + p, {method: m, headers: {'X-Skep-CSRF': '1'}, body: b && JSON.stringify(b)})).status, [method, path, body]);

await withBrowser(async (page, {context}) => {
	await signIn(page);
	const other = await context.newPage();
	await other.goto(base + '#/run/' + want.run);
	await other.waitForSelector('#link.live');
	await go(page, '#/run/' + want.run);
	await has(page, 'before');
	await has(other, 'before');
	const both = await seen(page);
	check(both.tabs === 2, 'tabs: ' + both.tabs);
	process.stdout.write('ready\n'); // the test kills skepd and starts it again
	await new Promise(done => process.stdin.once('data', done));
	await has(page, 'Connected again');
	await has(other, 'Connected again');
	await call(page, 'POST', `v1/runs/${want.run}/messages`, {text: 'go on'});
	await has(page, 'after the restart');
	await has(other, 'after the restart');
	for (const p of [page, other]) check(await p.evaluate(() => [...document.querySelectorAll('.event')].filter(e => e.innerText.includes('after the restart')).length) === 1, 'an event is missing or twice');
	console.log('resumed');
});
