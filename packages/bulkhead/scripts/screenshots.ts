// Screenshots of the inspector for README and docs, of a real host whose calls a browser answers:
// node packages/bulkhead/scripts/screenshots.ts. Look at them before you commit them.
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createHost, createInspector, openSqliteStore, type Session } from '../src/index.ts'
import { listen } from '@bulkhead/inspector'
import { chromium as playwright, type Page } from 'playwright-core'
import { chromium, CHROMIUM_OPTIONS } from '../../../scripts/chromium.ts'

const IMAGES = join(import.meta.dirname, '../../../docs/images')
const FILES: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "shop", "version": "2.4.0", "scripts": { "test": "node --test" } }\n',
  'src/cart.js': 'export const total = (lines) =>\n  lines.reduce((sum, { price }) => sum + price, 0)\n',
  'src/cart.test.js': "import { total } from './cart.js'\n// TODO: discounts\n",
  'README.md': '# Shop\n\nTODO: describe the cart.\n',
}

const folder = await mkdtemp(join(tmpdir(), 'demo-'))
const workspace = join(folder, 'shop')
for (const [name, text] of Object.entries(FILES)) {
  await mkdir(dirname(join(workspace, name)), { recursive: true })
  await writeFile(join(workspace, name), text)
}
execFileSync('git', ['init', '--quiet', '--initial-branch', 'main'], { cwd: workspace })

const host = await createHost({ workspace, home: join(folder, 'home'), store: await openSqliteStore({ file: join(folder, 'host.db') }) })
const inspector = await createInspector(host, { decide: true, by: 'ada' })
const listening = await listen((request) => inspector.fetch(request), { port: 0 })

const session = await host.openSession({ principal: { id: 'ada' }, interactor: inspector.interactor, mode: 'ask' })
let calls = 0
const call = (own: Session, name: string, args: Record<string, string>) =>
  own.call({ id: `call-${++calls}`, name, arguments: args })

const browser = await playwright.launch({ executablePath: chromium()!, args: [...CHROMIUM_OPTIONS] })
const page = await browser.newPage({
  viewport: { width: 1_120, height: 700 }, deviceScaleFactor: 1.5, reducedMotion: 'reduce',
})
try {
  await page.goto(inspector.link(listening.url))
  await page.getByText('Nothing waits for you').waitFor()
  for (const path of ['README.md', 'src/cart.js', 'package.json']) await call(session, 'read', { path })
  await call(session, 'grep', { pattern: 'TODO' })
  await call(session, 'glob', { pattern: '**/*.js' })
  await call(session, 'bash', { command: 'git status --short' })
  await call(session, 'read', { path: 'src/prices.js' })
  const tested = call(session, 'bash', { command: 'npm test' })
  await allow(page)
  await tested
  const edited = call(session, 'edit', {
    path: 'src/cart.js', old_string: '{ price }) => sum + price', new_string: '{ price, count }) => sum + price * count',
  })
  await allow(page)
  await edited
  void call(session, 'bash', { command: 'git push origin main --follow-tags' })
  await page.getByText('git push').first().waitFor()
  void call(session, 'write', { path: 'CHANGELOG.md', content: '# 2.5.0\n\n- Lines of the cart have a count.\n' })
  await page.getByText('write asks').waitFor()
  await page.getByRole('button', { name: 'Deny', exact: true }).and(page.locator(':enabled')).waitFor()
  await take('waiting', IMAGES)
  await page.getByRole('link', { name: 'Calls' }).click()
  await page.getByText('npm test').first().click()
  await page.locator('.flame').waitFor()
  await take('call', IMAGES)
  for (const view of ['Tools', 'Policy', 'Health']) {
    await page.getByRole('link', { name: view }).click()
    await page.locator('.wide').waitFor()
    await take(view.toLowerCase())
  }
} finally {
  await browser.close()
  inspector.close()
  await listening.close()
  await session.close()
  await host.close()
  await rm(folder, { recursive: true })
}

async function allow(shown: Page): Promise<void> {
  await shown.getByRole('button', { name: /^Allow this call/ }).click()
}

/** Light, dark, and as on a telephone. What is not for README and docs is to be looked at. */
async function take(name: string, place = tmpdir()): Promise<void> {
  await mkdir(place, { recursive: true })
  await page.mouse.move(0, 0)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.screenshot({ path: join(place, `inspector-${name}.png`) })
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.screenshot({ path: join(tmpdir(), `inspector-${name}-dark.png`) })
  await page.setViewportSize({ width: 360, height: 740 })
  await page.screenshot({ path: join(tmpdir(), `inspector-${name}-narrow.png`) })
  await page.setViewportSize({ width: 1_120, height: 700 })
  await page.emulateMedia({ colorScheme: 'light' })
}
