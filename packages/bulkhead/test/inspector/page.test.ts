import { readFile } from 'node:fs/promises'
import type { CallExport } from '@bulkhead/inspector/protocol'
import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { barriers, button, inBrowser, link } from '../../../inspector/test/page/in-browser.ts'
import { IN_THREADS } from '../extension-folder.ts'
import { writeOverboard, writeServer } from './overboard.ts'
import { openWorld } from './world.ts'

describe('the page of a real host', needs('Chromium'), () => {
  const { tab } = inBrowser()

  it('answers a call that waits: as edited, for so many more, and with a reason', async () => {
    await using world = await openWorld({ decide: true, by: 'ada' })
    const { page, errors } = await tab()
    await page.goto(world.inspector.link(world.url))
    await page.getByText('Nothing waits for you').waitFor()
    const session = await world.host.openSession({ interactor: world.inspector.interactor })
    const order = (id: string) => session.call({ id, name: 'order', arguments: { what: 'tea' } })

    const first = order('c1')
    await button(page, 'Edit the arguments').click()
    await page.getByLabel('Arguments. They are checked and judged again.').fill('{ "what": "milk" }')
    await button(page, 'Allow this call, as edited').click()
    expect(await first).toMatchObject({ type: 'output', data: { ordered: 'milk' } })

    const second = order('c2')
    await page.getByLabel('At most this many times').fill('2')
    await button(page, /at most 2 times$/).click()
    expect(await second).toMatchObject({ type: 'output' })
    expect(await order('c3')).toMatchObject({ type: 'output' })

    const third = order('c4')
    await button(page, 'Deny with a reason…').click()
    await page.getByLabel('Reason, for the model').fill('no more tea')
    await button(page, 'Deny').click()
    expect(await third).toMatchObject({ type: 'error', error_text: expect.stringContaining('no more tea') as string })
    expect(errors).toEqual([])
  })

  it('shows a crash, and every view of the host', LONG, async () => {
    await using world = await openWorld({ host: { trust: 'once', config: IN_THREADS } })
    writeOverboard(world.folder)
    writeServer(world.folder)
    await world.host.reload()
    await world.host.mcp.connect()
    const { page, errors } = await tab()
    await page.goto(world.inspector.link(world.url))
    await link(page, 'Calls').click()
    await page.getByText('No calls yet').waitFor()
    const session = await world.host.openSession()
    expect(await session.call({ id: 'c1', name: 'overboard', arguments: {} })).toMatchObject({ type: 'error' })
    await page.getByText('CompartmentCrashed').click()
    await page.locator('.flame').waitFor()
    expect(await barriers(page)).toEqual([])
    const views = [['Tools', 'overboard'], ['Policy', 'questions per 100 calls'], ['Health', 'Walls']] as const
    for (const [view, text] of views) {
      await link(page, view).click()
      await page.getByText(text).first().waitFor()
      if (thoroughly(false, true)) expect(await barriers(page)).toEqual([])
    }
    // It was connected before someone watched it.
    await page.getByLabel('Server', { exact: true }).selectOption('ship')
    await page.getByText('"method":"initialize"').click()
    await page.getByLabel('Message', { exact: true }).getByText('"protocolVersion"').waitFor()
    await page.getByLabel(/^Messages of ship/).press('ArrowUp')
    await page.getByLabel('Message', { exact: true }).getByText('"serverInfo"').waitFor()
    expect(await barriers(page)).toEqual([])
    expect(errors).toEqual([])
  })

  it('calls a tool by a form, shows what is wrong at the field, and switches a tool off', LONG, async () => {
    await using world = await openWorld({ decide: true, stored: true })
    const session = await world.host.openSession({ interactor: world.inspector.interactor })
    const { page, errors } = await tab()
    await page.goto(world.inspector.link(world.url))
    await link(page, 'Tools').click()
    await page.getByLabel('Session').selectOption(session.id)
    await page.getByLabel('Filter tools').fill('order')
    await button(page, /^order/).click()
    await button(page, 'Call it…').click()
    await page.getByLabel('what').fill('tea')
    await page.getByLabel('Servings').fill('1.5')
    await button(page, 'Call order').click()
    await page.getByRole('alert').getByText('must be integer').waitFor()
    expect(await page.getByLabel('Servings').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Servings').fill('2')
    if (thoroughly(false, true)) expect(await barriers(page)).toEqual([])
    await button(page, 'Call order').click()
    await link(page, 'answer it').click()
    await button(page, 'Allow this call').click()
    await link(page, 'Tools').click()
    await page.getByLabel('Filter tools').fill('order')
    await button(page, /^order/).click()
    await button(page, 'Call it…').click()
    await page.getByText('It succeeded.').waitFor()
    expect(await page.getByLabel('Outcome').textContent()).toContain('"ordered": "tea"')

    await page.getByLabel('Session').selectOption(session.id)
    await page.getByLabel('Filter tools').fill('greet')
    await page.getByRole('switch', { name: 'greet is offered' }).click()
    await page.getByText('It was switched off for this session.').waitFor()
    expect(await session.call({ id: 'g', name: 'greet', arguments: {} })).toMatchObject({ type: 'error' })

    // The same call as a file, with its records.
    await link(page, 'Calls').click()
    await world.host.flush()
    await page.locator('.call', { hasText: 'greet' }).click()
    const download = page.waitForEvent('download')
    await button(page, 'Export JSON').click()
    const file = JSON.parse(await readFile(await (await download).path(), 'utf8')) as CallExport
    expect(file).toMatchObject({ format: 'bulkhead-call/1', item: { tool: 'greet', code: 'ToolsDisabled' } })
    const [{ position = 0, link: ofRecord } = {}] = file.audit
    expect((await world.store!.records(position, 1))[0]).toMatchObject({ link: ofRecord })
    expect(errors).toEqual([])
  })
})
