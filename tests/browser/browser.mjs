// Starts Chromium with an empty profile and signs in. A script gets one JSON
// argument, prints what it saw, and fails if the page logged an error or broke
// its content policy.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {createRequire} from 'node:module';

const args = JSON.parse(process.argv[2]);
const {chromium} = createRequire(args.packages + '/node_modules/')('playwright-core');
const LIMIT = 240000; // as lib.HANG: the machine may be loaded

export const want = args;
export const check = (ok, what) => { if (!ok) throw new Error(what); };

export async function withBrowser(run, options = {}) {
	const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'skep-browser-'));
	const context = await chromium.launchPersistentContext(profile, {
		executablePath: args.chromium, headless: true, viewport: {width: 1280, height: 800}, acceptDownloads: true,
		args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'], ...options,
	});
	const problems = [], requests = [];
	context.setDefaultTimeout(LIMIT);
	await context.addInitScript(() => {
		window.violations = [];
		document.addEventListener('securitypolicyviolation', e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));
	});
	context.on('page', watch);
	function watch(page) {
		page.on('pageerror', e => problems.push('error: ' + e.message));
		page.on('console', m => { if (m.type() === 'error' && !/Failed to load resource/.test(m.text())) problems.push('console: ' + m.text()); });
		page.on('dialog', d => { problems.push('dialog: ' + d.message()); d.dismiss(); });
		page.on('request', r => requests.push({at: Date.now(), method: r.method(), url: r.url()}));
	}
	try {
		const page = context.pages()[0] ?? await context.newPage();
		watch(page);
		await run(page, {context, problems, requests});
		for (const p of context.pages()) problems.push(...(await p.evaluate(() => window.violations ?? []).catch(() => [])).map(v => 'policy: ' + v));
		check(!problems.length, problems.join('\n'));
	} finally {
		await context.close();
		fs.rmSync(profile, {recursive: true, force: true});
	}
}

export const base = args.url.split('#')[0];
export const go = (page, hash) => page.evaluate(h => { location.hash = h; }, hash);

export async function signIn(page) {
	await page.goto(args.url);
	await page.waitForSelector('#link.live');
	await page.waitForSelector('main h1');
}

// Waits until a function of the page is true.
export const until = (page, f, arg) => page.waitForFunction(f, arg, {timeout: LIMIT});
export const text = page => page.evaluate(() => document.body.innerText);
export const has = (page, words) => until(page, w => document.body.innerText.includes(w), words);
