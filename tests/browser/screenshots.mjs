// Takes a picture of each page, in both themes and at the width of a phone.
import fs from 'node:fs';
import {withBrowser, signIn, go, want} from './browser.mjs';

await withBrowser(async page => {
	await signIn(page);
	fs.mkdirSync(want.out, {recursive: true});
	for (const theme of ['light', 'dark'])
		for (const [width, height, size] of [[1280, 760, 'wide'], [360, 740, 'phone']]) {
			await page.setViewportSize({width, height});
			await page.evaluate(t => localStorage.setItem('skep-theme', t), theme);
			for (const [name, hash] of Object.entries(want.pages)) {
				await page.goto('about:blank');
				await page.goto(want.url.split('#')[0] + hash);
				await page.waitForSelector('#link.live');
				await page.waitForTimeout(want.wait ?? 900);
				await page.screenshot({path: `${want.out}/${name}-${theme}-${size}.png`});
				const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				if (wide > 0) console.log(`${name} at ${width} is ${wide} px too wide`);
			}
		}
});
