import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG, ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { barriers, button, inBrowser, link } from './in-browser.ts'
import { approval, call, detail } from './samples.ts'

const VIEWS = ['Waiting', 'Calls', 'Tools', 'Policy', 'Health'] as const
const COLORS: readonly ('light' | 'dark')[] = ['light', 'dark']

/** Which tests of a real host look for too. */
const nothing = async () => []

describe('the page', needs('Chromium'), () => {
  const { serve, tab } = inBrowser()

  it('takes a newcomer from the printed address through every view', async () => {
    const server = await serve()
    const { page, errors } = await tab()
    const token = server.link
    await page.goto(token)
    await page.getByText('Nothing waits for you').waitFor()
    expect(page.url()).toBe(`${server.address}#/waiting`)
    const shown: Readonly<Record<(typeof VIEWS)[number], string>> = {
      Waiting: 'Nothing waits for you', Calls: 'No calls yet', Tools: 'fetch_issue', Policy: 'questions per 100 calls',
      Health: 'All walls stand.',
    }
    for (const [at, view] of VIEWS.entries()) {
      await link(page, view).click()
      await page.getByText(shown[view]).first().waitFor()
      // Those of a real host are in its own test.
      for (const colorScheme of thoroughly(at < 2 ? [COLORS[at % 2]!] : [], COLORS)) {
        await page.emulateMedia({ colorScheme })
        expect({ view, colorScheme, barriers: await barriers(page) }).toEqual({ view, colorScheme, barriers: [] })
      }
    }
    // A reload keeps what the token was exchanged for; the token itself is used up.
    await page.reload()
    await page.getByText('All walls stand.').waitFor()
    const second = await tab()
    await second.page.goto(token)
    await second.page.getByText('The token was used').waitFor()
    expect(errors).toEqual([])
  })

  it('fits into 360 pixels', LONG, async () => {
    const server = await serve()
    const subject = 'a-very-long-name-of-a-file-'.repeat(9)
    server.calls = Array.from({ length: 50 }, (_, at) => call(`c${at}`, { subject }))
    server.details.set('S-7f31/c1', detail(server.calls[1]!))
    const { page, errors } = await tab({ viewport: { width: 360, height: 640 } })
    await page.goto(server.link)
    server.ask(approval('a1', { command: 'x'.repeat(400) }))
    await button(page, 'Allow this call').waitFor()
    for (const view of ['waiting', 'calls', 'calls/S-7f31/c1', 'tools', 'policy', 'health']) {
      await page.goto(`${server.address}#/${view}`)
      await page.locator('main > :not(h1):not(.empty)').first().waitFor()
      const wide = await page.evaluate(`Array.from(
        document.querySelectorAll('#page, main, .detail, .column, .wide'), (one) =>
        one.scrollWidth - one.clientWidth).filter((more) => more > 0)`)
      expect({ view, wide }).toEqual({ view, wide: [] })
      expect({ view, barriers: await thoroughly(nothing, barriers)(page) }).toEqual({ view, barriers: [] })
    }
    expect(errors).toEqual([])
  })

  it('says how to sign in a second tab, and then opens the call that it asked for', LONG, async () => {
    const server = await serve()
    const pushed = call('push', { tool: 'bash', subject: 'git push' })
    server.details.set(pushed.id, detail(pushed))
    const { page, errors } = await tab()
    await page.goto(`${server.address}#/calls/S-7f31/push`)
    await page.getByText('bulkhead inspect --link').waitFor()
    expect(await barriers(page)).toEqual([])
    const fresh = await page.context().newPage()
    await fresh.goto(server.link)
    await fresh.getByRole('heading', { name: 'bash' }).waitFor()
    expect(fresh.url()).toBe(`${server.address}#/calls/S-7f31/push`)
    // Or the link is pasted into the tab itself.
    await page.getByLabel('Link').fill(server.link)
    await button(page, 'Sign in').click()
    await page.getByRole('heading', { name: 'bash' }).waitFor()
    expect(errors).toEqual([])
  })

  it('says that the connection is lost, connects again, and asks to sign in at another server', LONG, async () => {
    const server = await serve()
    const { page } = await tab()
    await page.goto(server.link)
    await page.getByText('live', { exact: true }).waitFor()
    await server.stop()
    await page.getByText('The connection to the inspector is lost.').waitFor()
    await server.listen()
    await button(page, 'Connect now').click()
    await page.getByText('live', { exact: true }).waitFor()
    server.ask(approval('a1'))
    await button(page, 'Allow this call').waitFor()
    await server.stop()
    await server.restart()
    await page.getByText('bulkhead inspect --link').waitFor()
    await button(page, 'Sign in').waitFor()
  })

  it('lists calls as they run, and remembers the filters', LONG, async () => {
    const server = await serve()
    server.calls = Array.from({ length: 150 }, (_, at) => call(`old${at}`, { at: 1_000 + at }))
    const { page, errors } = await tab()
    await page.goto(server.link)
    await link(page, 'Calls').click()
    await page.getByText('150 calls', { exact: true }).waitFor()
    const running = call('crash', { tool: 'crashing', state: 'running', subject: 'boom' })
    server.begin(running)
    await page.getByRole('img', { name: 'running' }).waitFor()
    const end = { code: 'CompartmentCrashed', message: 'The compartment ended.', ms: 40 }
    const crashed = { ...running, state: 'failed', ...end } as const
    server.details.set(running.id, detail(crashed))
    server.begin(crashed)
    await page.getByRole('img', { name: 'failed' }).waitFor()
    // Only rows in sight are in the document.
    expect(await page.getByRole('option').count()).toBeLessThan(60)
    expect(await thoroughly(nothing, barriers)(page)).toEqual([])

    await page.getByRole('checkbox', { name: 'Failed' }).check()
    await page.getByText('1 call', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('1 call', { exact: true }).waitFor()
    const bad = call('bad', { state: 'denied' })
    server.details.set(bad.id, detail(bad))
    server.begin({ ...call('fine'), at: bad.at - 1 }, bad)
    await page.getByText('2 calls', { exact: true }).waitFor()
    await button(page, 'Show all').click()
    await page.getByText('153 calls', { exact: true }).waitFor()

    await page.getByRole('listbox').focus()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.url()).toContain('#/calls/S-7f31/')
    await page.keyboard.press('Escape')
    await page.getByText('boom').click()
    await page.getByText('The compartment ended.').waitFor()
    expect(errors).toEqual([])
  })

  it('shows one call as a flame in which waiting for a person has its own colour, and exports it', LONG, async () => {
    const server = await serve()
    const pushed = call('push', { tool: 'bash', subject: 'git push', ms: 8_464, waitedMs: 8_100 })
    server.calls = [pushed]
    server.details.set(pushed.id, detail(pushed))
    const { page, errors } = await tab()
    await page.goto(server.link)
    await page.goto(`${server.address}#/calls/S-7f31/push`)
    const person = page.getByRole('row', { name: /waiting for a person/ })
    await person.waitFor()
    const colours = await page.evaluate<[string, string][]>(`
      Array.from(document.querySelectorAll('.track .span'), (one) =>
        [one.className, getComputedStyle(one).backgroundColor])`)
    const [, own] = colours.find(([kind]) => kind === 'span person')!
    expect(colours.filter(([, colour]) => colour === own)).toHaveLength(1)
    await page.getByText('git push origin main read 220 B').waitFor()
    expect(await thoroughly(nothing, barriers)(page)).toEqual([])
    const download = page.waitForEvent('download')
    await button(page, 'Export JSON').click()
    const file = await (await download).path()
    const format = 'bulkhead-call/1'
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ format, audit: { position: 412 } })
    await page.getByLabel(/Capture/).check()
    await expect.poll(() => server.capture.on).toBe(true)
    expect(errors).toEqual([])
  })

  it('tries a call by a form', ONLY_IN_SOAK, async () => {
    const server = await serve()
    const { page, errors } = await tab()
    await page.goto(server.link)
    await link(page, 'Policy').click()
    await page.getByLabel('Tool').fill('bash')
    await page.getByLabel('Arguments, as JSON').fill('{ "command": "git push origin main" }')
    await button(page, 'Try it').click()
    await page.getByText('A person would be asked.').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(errors).toEqual([])
  })
})
