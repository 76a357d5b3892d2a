// Each page and its buttons.
import fs from 'node:fs';
import {withBrowser, signIn, go, has, until, check, want, text, base} from './browser.mjs';

const button = (page, name) => page.getByRole('button', {name, exact: true}).first();
async function dialog(page, fill, ok) {
	await page.waitForSelector('dialog[open]');
	await fill?.(page.locator('dialog'));
	await page.locator('dialog .buttons button').last().click();
	await page.waitForSelector('dialog', {state: 'detached'});
}

await withBrowser(async (page, {requests}) => {
	await signIn(page);
	check(!(await page.evaluate(() => location.href)).includes('login='), 'the code is still in the address');

	// Now: states, filters, bulk cancel with a preview
	await has(page, 'you: May I?');
	await until(page, n => document.querySelectorAll('.runs .row').length >= n, 3);
	await page.selectOption('select[aria-label=Tag]', 'bulk');
	await until(page, () => location.hash.includes('tag=bulk'));
	await until(page, () => document.querySelectorAll('.runs .row').length === 2);
	await button(page, 'Cancel…').click();
	await has(page, 'Cancel 2 runs?');
	await dialog(page);
	await has(page, 'No run matches the filter');
	await page.goBack();
	await has(page, 'you: May I?');
	await page.keyboard.press('j');
	await page.keyboard.press('j');
	await until(page, () => document.querySelector('.row[aria-selected=true]'));
	await page.keyboard.press('Enter');
	await until(page, () => location.hash.startsWith('#/run/'));

	// Approvals: answered elsewhere, "not now", allow with a note, deny
	await page.keyboard.press('g');
	await page.keyboard.press('a');
	await has(page, 'May I?');
	await has(page, 'And this?');
	await page.locator('article', {hasText: 'May I?'}).getByRole('button', {name: 'Not now'}).click();
	await until(page, () => document.querySelector('article:last-of-type')?.innerText.includes('May I?'));
	await page.evaluate(async id => { await fetch('../v1/approvals/' + id, {method: 'POST', headers: {'X-Skep-CSRF': '1'}, body: '{"allow":true}'}); }, want.elsewhere);
	await until(page, () => !document.body.innerText.includes('Elsewhere?'));
	await page.locator('article', {hasText: 'May I?'}).locator('input').fill('be careful');
	await page.locator('article', {hasText: 'May I?'}).getByRole('button', {name: 'Allow once'}).click();
	await page.locator('article', {hasText: 'And this?'}).getByRole('button', {name: 'Deny'}).click();
	await has(page, 'No open questions');
	await until(page, () => document.getElementById('waiting').textContent === '');

	// Run: transcript grows, tools are folded, search, tabs, note, download
	await go(page, '#/run/' + want.run);
	await has(page, 'first words');
	await page.locator('details.tool summary').first().click();
	await has(page, 'the tool said this');
	await page.fill('[data-search]', 'needle');
	await page.keyboard.press('Enter');
	await has(page, 'Hit in #');
	await until(page, () => document.querySelector('mark')?.textContent === 'needle');
	for (const [tab, words] of [['Timeline', 'step'], ['Cost', '$0.0012'], ['Files', ''], ['Attempts', 'Transitions'], ['Details', 'Sandbox and limits']]) {
		await page.locator('.tabs').getByRole('link', {name: tab, exact: true}).click();
		if (words) await has(page, words);
	}
	await page.locator('.tabs a', {hasText: 'Transcript'}).click();
	await button(page, 'Note…').click();
	await dialog(page, d => d.locator('textarea').fill('seen'));
	await has(page, 'Note: seen');
	const [saved] = await Promise.all([page.waitForEvent('download'), button(page, 'Download JSONL').click()]);
	fs.copyFileSync(await saved.path(), want.log);

	// verbs of an active run
	await go(page, '#/run/' + want.long);
	await button(page, 'Pause').click();
	await button(page, 'Resume').click();
	await button(page, 'Send a message…').click();
	await dialog(page, d => d.locator('textarea').fill('go on'));
	await has(page, 'go on');
	await button(page, 'Stop').click();
	await dialog(page);
	await has(page, 'cancelled');
	await button(page, 'Retry').click();
	await until(page, old => location.hash.startsWith('#/run/') && !location.hash.includes(old), want.long);

	// Sessions: chat, fork, archive, search
	await go(page, '#/sessions/' + want.agent);
	await has(page, want.session);
	await go(page, `#/sessions/${want.agent}/chat`);
	await page.fill('textarea[aria-label=Message]', '[{"text": "an answer that streams", "chunks": 4, "every_ms": 50}]');
	await button(page, 'Send').click();
	await has(page, 'an answer that streams');
	await has(page, 'succeeded');
	await button(page, 'Fork…').click();
	await dialog(page, d => d.locator('input[name=key]').fill('branch'));
	await until(page, () => location.hash.endsWith('/branch'));
	await button(page, 'Archive').click();
	await button(page, 'Unarchive').waitFor();
	await go(page, `#/sessions/${want.agent}?q=streams`);
	await has(page, 'match');
	await go(page, `#/sessions/${want.agent}?view=tree`);
	await has(page, 'forked at');

	// Workspaces: browse, edit, snapshot, differences, roll back
	await go(page, `#/workspaces/${want.agent}/w`);
	await page.locator('td a', {hasText: 'hello.txt'}).click();
	await has(page, 'hello from a file');
	await button(page, 'Edit').click();
	await page.fill('textarea', 'changed in the browser\n');
	await button(page, 'Save').click();
	await has(page, 'changed in the browser');
	await page.locator('.tabs a', {hasText: 'Differences'}).click();
	await page.selectOption('select[aria-label=Compare]', '@one');
	await has(page, '1 difference');
	await page.locator('details.panel summary').first().click();
	await has(page, '+changed in the browser');
	await page.locator('.tabs a', {hasText: 'Snapshots'}).click();
	await button(page, 'Roll back…').click();
	await dialog(page);
	await has(page, 'Rolled back');
	await page.locator('.tabs a', {hasText: 'History'}).click();
	await has(page, 'hello.txt');

	// Channels, agents, host
	await go(page, '#/channels');
	await has(page, 'hook');
	await button(page, 'Pause').click();
	await has(page, 'paused');
	await go(page, '#/channels/deliveries?state=dead');
	await button(page, 'Discard').first().click();
	await has(page, 'No deliveries');
	await go(page, '#/channels/inbound');
	await has(page, 'became run');
	await go(page, '#/agents');
	await button(page, 'New agent…').click();
	await dialog(page, async d => { await d.locator('input[name=name]').fill('fresh'); });
	await until(page, () => location.hash === '#/agents/fresh');
	await button(page, 'Disable').click();
	await has(page, 'disabled');
	await has(page, 'Versions');
	await go(page, '#/plans');
	await has(page, 'Schedules');
	await has(page, 'No budgets');
	await go(page, '#/host');
	await has(page, 'preforked workers');
	for (const [tab, words] of [['Backups', 'No backup yet'], ['Audit log', 'login.code'], ['Log', ''], ['Logins', 'this browser']]) {
		await page.locator('.tabs').getByRole('link', {name: tab, exact: true}).click();
		if (words) await has(page, words);
	}
	await page.keyboard.press('?');
	await has(page, 'next / previous row');
	await page.keyboard.press('Escape');
	await go(page, '#/nowhere');
	await has(page, 'There is no such page');

	// nothing changes: no requests
	await go(page, '#/now');
	await page.waitForSelector('main h1');
	await page.waitForTimeout(3000);
	const before = requests.length;
	await page.waitForTimeout(4000);
	check(requests.length === before, 'requests while nothing changed: ' + requests.slice(before).map(r => r.url).join(' '));
	await go(page, '#/host');
	await button(page, 'Sign out').click();
	await has(page, 'Sign in to skep');
	await page.fill('input[name=token]', want.token);
	await button(page, 'Sign in').click();
	await page.waitForSelector('#link.live');
	await has(page, 'signed in as eye');
	console.log('all pages');
});
