import { describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { LONG, ONLY_IN_SOAK } from '../../../../scripts/thoroughly.ts'
import type { WaitingQuestion } from '../../src/protocol.ts'
import { barriers, button, inBrowser } from './in-browser.ts'
import { approval } from './samples.ts'

describe('what waits', needs('Chromium'), () => {
  const { serve, tab } = inBrowser()
  const opened = async (options?: { readonly timezoneId: string }) => {
    const server = await serve()
    const { page, errors } = await tab(options)
    await page.goto(server.link)
    await page.getByText('Nothing waits for you').waitFor()
    return { server, page, errors }
  }

  it('comes up by itself: in the title and icon of the tab, inert at first, and without the focus', async () => {
    const { server, page, errors } = await opened()
    await page.evaluate(`
      seen = []
      new MutationObserver(() => {
        const answers = document.querySelector('.answers')
        if (answers) seen.push(answers.matches(':disabled'))
      }).observe(document, { subtree: true, childList: true, attributes: true })
    `)
    server.ask(approval('a1'), approval('a2', { since: Date.now(), tool: 'edit' }))
    await button(page, 'Allow this call').waitFor()
    await expect.poll(() => page.title()).toMatch(/^2 wait, 4\d s$/)
    expect(await page.locator('link[rel=icon]').getAttribute('href')).toBe('./assets/icon-2.svg')
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY')
    await expect.poll(() => button(page, 'Allow this call').isEnabled()).toBe(true)
    expect(await page.evaluate('seen[0]')).toBe(true)
    expect(await page.locator('.answers button').allTextContents()).toEqual([
      'Deny', 'Allow this call', 'Deny with a reason…', 'Allow git push origin main for this task', 'Allow', 'Allow',
      'Allow always…',
    ])
    expect(await barriers(page)).toEqual([])

    await button(page, 'Allow this call').click()
    const decision = { do: 'allow', answer: 'once', digest: 'digest-a1' }
    await expect.poll(() => server.taken).toEqual([{ id: 'a1', decision }])
    await page.getByText('The call runs.').first().waitFor()
    // The next question takes the place, is inert again, and has not the focus.
    await expect.poll(() => page.title()).toMatch(/^1 waits, /)
    expect(await page.evaluate('document.activeElement.id')).toBe('main')
    expect(errors).toEqual([])
  })

  it('can be allowed until a time, or by a rule that is shown and can be narrowed', LONG, async () => {
    const { server, page } = await opened({ timezoneId: 'Europe/Berlin' })
    const decisions = () => server.taken.map(({ decision }) => decision)
    server.ask(approval('a1'))
    await page.getByText(/^(CET|GMT\+\d)$/).or(page.getByText('GMT+1')).first().waitFor()
    await page.getByLabel(/^Until, /).fill('23:59')
    await button(page, /until 23:59 \S+$/).click()
    await expect.poll(decisions).toMatchObject([{ do: 'allow', answer: 'session' }])
    const { until } = decisions()[0] as { until: number }
    expect(new Date(until).toLocaleTimeString('de', { timeZone: 'Europe/Berlin', timeStyle: 'short' })).toBe('23:59')

    server.ask(approval('a2'))
    await button(page, 'Allow always…').click()
    await page.getByText('~/.bulkhead/config.json').waitFor()
    await page.getByText('allow bash git push origin main *').waitFor()
    await page.getByLabel('What it covers').selectOption('git push origin main')
    await button(page, 'Save it and allow').click()
    await expect.poll(() => decisions()[1]).toMatchObject({
      answer: 'always', rule: { permission: 'bash', pattern: 'git push origin main', action: 'allow' },
    })
  })

  it('can be edited, and put off', ONLY_IN_SOAK, async () => {
    const { server, page } = await opened()
    const decisions = () => server.taken.map(({ decision }) => decision)
    server.ask(approval('a1'))
    await button(page, 'Edit the arguments').click()
    const edited = page.getByLabel('Arguments. They are checked and judged again.')
    await edited.fill('{')
    expect(await button(page, /^Allow this call/).isEnabled()).toBe(false)
    await edited.fill('{ "command": "git push origin next" }')
    await button(page, 'Allow this call, as edited').click()
    await expect.poll(decisions).toMatchObject([{ do: 'allow', arguments: { command: 'git push origin next' } }])

    server.ask(approval('a2'))
    await button(page, 'Not now').click()
    await page.getByRole('heading', { name: 'Not now' }).waitFor()
    expect(decisions()[1]).toMatchObject({ do: 'later' })
    expect(await page.title()).toBe('Bulkhead inspector')
  })

  it('may be a question with a form', ONLY_IN_SOAK, async () => {
    const { server, page, errors } = await opened()
    const item: WaitingQuestion = {
      kind: 'question', id: 'q1', digest: 'd', since: Date.now(), host: 'h', chain: ['deploy'], paused: false,
      from: 'deploy',
      request: {
        kind: 'Form', prompt: 'Where to?', schema: {
          type: 'object', required: ['stage'], properties: {
            stage: { type: 'string', enum: ['test', 'live'], title: 'Stage' },
            count: { type: 'integer', title: 'Copies' },
            loud: { type: 'boolean', title: 'Tell everyone' },
          },
        },
      },
    }
    server.ask(item)
    await page.getByLabel('Stage').selectOption('live')
    await page.getByLabel('Copies').fill('3')
    await page.getByLabel('Tell everyone').check()
    expect(await barriers(page)).toEqual([])
    await button(page, 'Answer').click()
    await expect.poll(() => server.taken[0]?.decision).toEqual({
      do: 'answer', digest: 'd', value: { stage: 'live', count: 3, loud: true },
    })
    expect(errors).toEqual([])
  })

  it('shows text of strangers as text, with what is invisible', async () => {
    const { server, page, errors } = await opened()
    const hostile = 'echo <img src=x onerror=alert(1)> \u202Egpj.exe\u200b\u0007\nrm -rf ~'
    server.ask(approval('a1', { command: hostile, tool: 'b\u202Eash', reasons: ['<b>bold</b>'] }))
    await page.getByText('b\\u{202e}ash asks for approval').waitFor()
    expect(await page.getByLabel('Command').textContent())
      .toBe('echo <img src=x onerror=alert(1)> \\u{202e}gpj.exe\\u{200b}\\u{7}\nrm -rf ~')
    await page.getByText('<b>bold</b>').waitFor()
    expect(await page.locator('#page img').count()).toBe(0)
    expect(errors).toEqual([])
  })

  it('is inert again when it moves up', LONG, async () => {
    const { server, page } = await opened()
    server.ask(approval('a1'), approval('a2', { since: Date.now(), tool: 'edit' }))
    await page.getByText('edit asks for approval').click()
    await expect.poll(() => button(page, 'Allow this call').last().isEnabled()).toBe(true)
    await page.evaluate(`
      seen = []
      new MutationObserver(() => {
        const all = document.querySelectorAll('.answers')
        if (all.length === 1) seen.push(all[0].matches(':disabled'))
      }).observe(document, { subtree: true, childList: true, attributes: true })
    `)
    server.settle('a1')
    await expect.poll(() => page.title()).toMatch(/^1 waits, /)
    await expect.poll(() => button(page, 'Allow this call').isEnabled()).toBe(true)
    expect(await page.evaluate('seen')).toContain(true)
  })

  it('says why it cannot be answered here', LONG, async () => {
    const { server, page } = await opened()
    server.ask(approval('a1', { unanswerable: 'The inspector only reads. Start it with --decide.' }))
    await page.getByText('Start it with --decide.').waitFor()
    expect(await button(page, 'Deny').count()).toBe(0)
  })
})
