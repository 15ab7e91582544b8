import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { AuditEntry } from '@bulkhead/contract'
import { createAnswerLinks } from '@bulkhead/inspector/links'
import { openQuestions } from '@bulkhead/host'
import { verifyAudit } from '@bulkhead/store'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { firstData } from '../../../../scripts/first-data.ts'
import { needs } from '../../../../scripts/machine.ts'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { barriers, button, inBrowser } from '../../../inspector/test/page/in-browser.ts'
import { AuditPasskeys } from '../../src/cli/policy/audit-passkeys.ts'
import { ownRing } from '../../src/facade/passkeys/passkey-ring.ts'
import { serveAnswers } from '../../src/facade/serve-answers.ts'
import { openSqliteStore } from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import { openWorld } from './world.ts'

/** What holds the passkey: it agrees to everything, as a person who touches it. */
async function withAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true, isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

/** Runs `bulkhead passkey add laptop` until the page has made one. */
async function addPasskey(page: Page, home: string): Promise<{ readonly code: number; readonly text: string }> {
  const child = spawn(process.execPath, [
    join(import.meta.dirname, '../../src/bin.ts'), 'passkey', 'add', 'laptop', '--home', home,
  ], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { XDG_CACHE_HOME: CACHE, NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
  })
  try {
    const ended = once(child, 'close')
    await page.goto((await firstData(child.stdout)).trim())
    const rest = firstData(child.stdout)
    await button(page, 'Create it').click()
    await page.getByText('Added the passkey laptop').waitFor()
    const [code] = await ended as [number]
    return { code, text: await rest }
  } finally {
    child.kill()
  }
}

describe('a passkey of a browser', needs('Chromium'), () => {
  const { tab } = inBrowser()

  it('is made on a page, allows calls on the page and through a link, and the audit proves it', async () => {
    const rules = [{ permission: 'order', pattern: '*', action: 'ask', passkey: true }] as const
    await using world = await openWorld({ decide: true, stored: true, host: { config: { rules: [...rules] } } })
    const [home, file] = [join(world.folder, 'home'), join(world.folder, 'host.db')]
    const { page, errors } = await tab()
    await withAuthenticator(page)
    expect(await addPasskey(page, home)).toEqual({ code: 0, text: 'Added the passkey laptop for localhost.\n' })

    const session = await world.host.openSession({ interactor: world.inspector.interactor })
    const order = (id: string) => session.call({ id, name: 'order', arguments: { what: 'tea' } })
    const first = order('c1')
    await page.goto(world.inspector.link(world.url))
    const allow = button(page, 'Allow this call with passkey…')
    await allow.waitFor()
    if (thoroughly(false, true)) expect(await barriers(page)).toEqual([])
    await allow.click()
    expect(await first).toMatchObject({ data: { ordered: 'tea' } })

    const store = await openSqliteStore({ file })
    let links: ReturnType<typeof createAnswerLinks>
    const server = await serveAnswers(() => links, 0)
    try {
      const questions = openQuestions(store, ownRing(home))
      links = createAnswerLinks({ questions, base: `http://localhost:${server.port}/`, secret: 'x'.repeat(32) })
      const second = order('c2')
      await expect.poll(async () => (await questions.list()).length).toBe(1)
      await page.goto(links.link((await questions.list())[0]!))
      await page.getByLabel('Allow this call').check()
      await button(page, 'Send').click()
      await page.getByText('The call goes on').waitFor()
      expect(await second).toMatchObject({ data: { ordered: 'tea' } })
      await world.host.flush()
      expect((await inside(['audit', 'verify', '--store', file, '--home', home], world.folder)).stdout)
        .toMatch('2 signatures of passkeys are right.')
      const proven: AuditEntry[] = []
      const note = (entry: AuditEntry) => void (JSON.stringify(entry).includes('"passkey":{') && proven.push(entry))
      expect(await verifyAudit(store, undefined, note)).toMatchObject({ ok: true })
      const [one, other] = proven as [AuditEntry, AuditEntry]
      const found = (...all: readonly object[]) => {
        const passkeys = new AuditPasskeys(home)
        for (const entry of all) passkeys.note(entry as never)
        return passkeys.report
      }
      const { record } = one as unknown as { record: { passkey: object } & Record<string, unknown> }
      const changed = (parts: object, passkey = {}) =>
        found({ position: 1, record: { ...record, ...parts, passkey: { ...record.passkey, ...passkey } } })
          .wrong?.reason
      expect(found(one, other)).toEqual({ right: 2, unknown: 0 })
      expect(changed({})).toBeUndefined()
      expect(changed({ callId: 'c3' })).toMatch('another call')
      expect(changed({}, { answer: 'x' })).toMatch('another answer')
      expect(changed({}, { nonce: 'x' })).toMatch('another question')
      expect(changed({ status: 'rejected' })).toMatch('not whole')
      expect(found(one, { position: 9, record }).wrong)
        .toEqual({ position: 9, reason: expect.stringMatching('same signature') as string })
      expect((await inside(['passkey', 'remove', 'laptop', '--home', home], world.folder)).code).toBe(0)
      expect(found(one)).toEqual({ right: 1, unknown: 0 })
      expect(changed({ at: '2999-01-01T00:00:00.000Z' })).toMatch('removed before')
    } finally {
      await server.close()
      await store.close()
    }
    expect(errors).toEqual([])
  })
})
