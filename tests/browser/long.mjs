// 500,000 events, a 10 MB output and 5,000 runs do not freeze the page.
import {withBrowser, signIn, go, has, until, check, want} from './browser.mjs';

// The longest time that the page did not draw while `act` ran, and its duration.
async function frames(page, act) {
	await page.evaluate(() => {
		window.gaps = []; window.last = performance.now(); window.on = true;
		const tick = now => { window.gaps.push(now - window.last); window.last = now; if (window.on) requestAnimationFrame(tick); };
		requestAnimationFrame(tick);
	});
	const began = Date.now();
	await act();
	const took = Date.now() - began;
	return {took, longest: await page.evaluate(() => { window.on = false; return Math.max(...window.gaps); })};
}

await withBrowser(async page => {
	await signIn(page);
	const open = await frames(page, async () => {
		await go(page, '#/run/' + want.huge);
		await until(page, () => document.querySelectorAll('.event').length > 5 && !document.querySelector('.event .dim')?.textContent.startsWith('…'));
	});
	const rows = () => page.evaluate(() => document.querySelectorAll('.event').length);
	check(await rows() < 200, 'too many rows exist: ' + await rows());
	const jump = await frames(page, async () => {
		await page.evaluate(() => { const t = document.querySelector('skep-transcript'); t.live = false; t.scrollTop = t.scrollHeight / 2; });
		await until(page, n => [...document.querySelectorAll('.event')].some(e => e.dataset.seq > n / 3 && e.dataset.seq < n * 2 / 3 && e.innerText.includes('event number')), want.events);
	});
	const scroll = await frames(page, async () => {
		for (let i = 0; i < 40; i++) { await page.evaluate(() => { document.querySelector('skep-transcript').scrollTop += 900; }); await page.waitForTimeout(16); }
	});
	check(await rows() < 200, 'too many rows exist: ' + await rows());
	await go(page, `#/run/${want.huge}?at=${want.events - 5}`);
	await has(page, 'event number ' + (want.events - 10));
	const output = await frames(page, async () => {
		await go(page, '#/run/' + want.output);
		await page.locator('details.tool summary').first().click();
		await has(page, 'Show more');
	});
	console.log(JSON.stringify({open, jump, scroll, output}));
});
