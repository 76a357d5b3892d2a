// Hostile text in every field that an agent, a file, a channel or a webhook can
// fill: it is shown as text, and nothing of it runs.
import {withBrowser, signIn, go, has, until, check, want} from './browser.mjs';

await withBrowser(async (page, {requests}) => {
	await page.addInitScript(() => { window.hit = () => { window.hacked = true; }; });
	await signIn(page);
	for (const hash of want.pages) {
		await go(page, hash);
		process.stdout.write(hash + '\n');
		await has(page, want.marker);
		for (const summary of await page.locator('details:not([open]) > summary').all()) await summary.click({timeout: 1000}).catch(() => {});
		check(!await page.evaluate(() => window.hacked), 'a script ran on ' + hash);
		check(await page.evaluate(() => !document.querySelector('main script, main iframe, main object, main embed, main form[action], main [onerror], main [onclick], main a[href^="javascript:"], main svg[onload]')), 'active content on ' + hash);
	}
	const out = requests.filter(r => !r.url.startsWith(want.origin) && !r.url.startsWith('data:') && !r.url.startsWith('blob:'));
	check(!out.length, 'requests to elsewhere: ' + out.map(r => r.url).join(' '));
	console.log('only text');
});
