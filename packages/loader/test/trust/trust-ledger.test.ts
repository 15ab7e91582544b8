import {
  appendFileSync, chmodSync, existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, statSync, symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { BulkheadError, type TrustLedger, type TrustStatus } from '@bulkhead/contract'
import { describe, expect, test } from 'vitest'
import { createLoader } from '../../src/load/loader.ts'
import { HomeFixture, manifestOf } from '../home-fixture.ts'

/** A project with one extension and a configuration, and its trust ledger. */
class TrustFixture extends HomeFixture {
  readonly file = join(this.globalRoot, 'trust.jsonl')
  readonly extensionAt = this.extension(this.projectRoot, 'weather')
  readonly configAt = this.write(join(this.projectRoot, 'config.json'), { mode: 'ask' })

  /** A new ledger, as after a restart. */
  get ledger(): TrustLedger {
    return createLoader(this.options()).trust
  }

  async status(): Promise<TrustStatus> {
    return (await this.ledger.status(this.workspace)).status
  }
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(() => 'resolved', (error: unknown) => BulkheadError.from(error).code)

describe('a decision about a project', () => {
  test('is unknown at first', async () => {
    using home = new TrustFixture()
    expect(await home.ledger.status(home.workspace)).toMatchObject({ status: { kind: 'unknown' }, diagnostics: [] })
    expect(existsSync(home.file)).toBe(false)
  })

  test('is not needed without a project layer', async () => {
    using home = new TrustFixture()
    rmSync(home.projectRoot, { recursive: true })
    const digest = await home.ledger.measure(home.workspace)
    expect(await home.status()).toEqual({ kind: 'nothing', digest })
    mkdirSync(home.projectRoot)
    expect(await home.ledger.measure(home.workspace), 'an empty folder brings nothing either').toBe(digest)
    chmodSync(home.projectRoot, 0)
    expect(await home.status(), 'a placeholder folder is not a layer').toEqual({ kind: 'nothing', digest })
    rmdirSync(home.projectRoot)
    expect(await codeOf(home.ledger.decide(home.workspace, 'trusted'))).toBe('ProjectPathInvalid')
    expect((await home.ledger.decide(home.workspace, 'declined')).decision).toBe('declined')
  })

  test('declined lasts while the content stays the same', async () => {
    using home = new TrustFixture()
    const { digest, decidedAt } = await home.ledger.decide(home.workspace, 'declined')
    expect(await home.status()).toEqual({ kind: 'declined', since: decidedAt, digest })
    home.write(home.configAt, { mode: 'yolo' })
    expect(await home.status()).toEqual({ kind: 'changed', since: decidedAt })
  })

  test('declined without a digest, as in older files, lasts for any content', async () => {
    using home = new TrustFixture()
    const decidedAt = '2026-01-01T00:00:00.000Z'
    const record = { version: 1, id: 'a', path: home.workspace, decision: 'declined', decidedAt, digest: null }
    home.write(home.file, `${JSON.stringify(record)}\n`)
    chmodSync(home.file, 0o600)
    home.write(home.configAt, { mode: 'yolo' })
    expect(await home.status()).toEqual({ kind: 'declined', since: decidedAt, digest: 'any' })
  })

  test('is bound to the reviewed content', async () => {
    using home = new TrustFixture()
    const seen = await home.ledger.measure(home.workspace)
    home.write(home.configAt, { mode: 'yolo' })
    for (const decision of ['trusted', 'once', 'declined'] as const) {
      expect((await home.ledger.decide(home.workspace, decision, seen)).digest).toBe(seen)
      expect(await home.status()).toMatchObject({ kind: 'changed' })
    }
    expect(await codeOf(home.ledger.decide(home.workspace, 'trusted', 'any'))).toBe('TrustEntryInvalid')
  })

  test('is bound to the canonical path', async () => {
    using home = new TrustFixture()
    const way = join(home.base, 'way')
    symlinkSync(home.workspace, way)
    expect((await home.ledger.decide(way, 'trusted')).path).toBe(home.workspace)
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
  })
})

describe('a changed project needs a new decision', () => {
  const changes: readonly (readonly [string, (home: TrustFixture) => void])[] = [
    ['a removed extension', (home) => rmSync(home.extensionAt, { recursive: true })],
    ['a renamed extension', (home) => {
      rmSync(home.extensionAt, { recursive: true })
      home.extension(home.projectRoot, 'storms', manifestOf())
    }],
    ['an agent', (home) => void home.write(join(home.projectRoot, 'agents/scout.json'), { name: 'scout' })],
    ['a link', (home) => symlinkSync('/etc/passwd', join(home.extensionAt, 'passwd'))],
  ]

  test.each(changes)('a new decision is needed after this change: %s', async (_, change) => {
    using home = new TrustFixture()
    const { digest } = await home.ledger.decide(home.workspace, 'trusted')
    change(home)
    expect(await home.status()).toMatchObject({ kind: 'changed' })
    // A load with the trusted digest does not use the changed project.
    const { extensions, diagnostics, config } = await createLoader(home.options())
      .load({ workspace: home.workspace, trust: 'trusted', projectDigest: digest! })
    expect([extensions, config.merged]).toEqual([[], {}])
    expect(diagnostics).toMatchObject([
      { severity: 'warning', stage: 'trust', code: 'ProjectTrustRequired', location: home.projectRoot },
    ])
    await home.ledger.decide(home.workspace, 'trusted')
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
  })

  test('a new decision is needed when an API document changes', async () => {
    using home = new TrustFixture()
    home.write(home.configAt, { openapi: { shop: { document: 'apis/shop.json' }, none: { document: 'none.json' } } })
    const at = home.write(join(home.workspace, 'apis/shop.json'), '{}')
    const { digest } = await home.ledger.decide(home.workspace, 'trusted')
    const request = { workspace: home.workspace, trust: 'trusted', projectDigest: digest! } as const
    const load = async () => (await createLoader(home.options()).load(request)).extensions
    expect([await home.status(), await load()]).toMatchObject([{ kind: 'trusted' }, [{ id: 'weather' }]])
    appendFileSync(at, ' ')
    expect([await home.status(), await load()]).toMatchObject([{ kind: 'changed' }, []])
    writeFileSync(at, '{}')
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
    home.write(join(home.workspace, 'none.json'), '{}')
    expect(await home.status()).toMatchObject({ kind: 'changed' })
  })

  test('a file that an API document refers to', async () => {
    using home = new TrustFixture()
    home.write(home.configAt, {
      openapi: { shop: { document: 'apis/shop.json' }, inline: { document: { openapi: '3.1.0' } } },
    })
    home.write(join(home.workspace, 'apis/shop.json'), '{"paths":{"/x":{"$ref":"x.json"}}}')
    const at = home.write(join(home.workspace, 'apis/x.json'), '{}')
    await home.ledger.decide(home.workspace, 'trusted')
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
    appendFileSync(at, ' ')
    expect(await home.status()).toMatchObject({ kind: 'changed' })
  })

  test('ignores changes in unused files', async () => {
    using home = new TrustFixture()
    const { digest } = await home.ledger.decide(home.workspace, 'trusted')
    home.write(join(home.workspace, 'README.md'), 'new')
    home.write(join(home.projectRoot, 'notes.txt'), 'new')
    home.write(join(home.projectRoot, 'tools', '.cache', 'x'), 'new')
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
    const { extensions, diagnostics } = await createLoader(home.options())
      .load({ workspace: home.workspace, trust: 'trusted', projectDigest: digest! })
    expect([extensions.length, diagnostics]).toEqual([1, []])
  })
})

describe('the trust file', () => {
  test('is append-only and readable only by its owner', async () => {
    using home = new TrustFixture()
    let before = ''
    for (const decision of ['trusted', 'declined', 'once', 'revoked'] as const) {
      await home.ledger.decide(home.workspace, decision)
      const now = readFileSync(home.file, 'utf8')
      expect(now.startsWith(before) && now.length > before.length).toBe(true)
      before = now
    }
    expect(before.split('\n').filter(Boolean).map((line) => (JSON.parse(line) as { decision: string }).decision))
      .toEqual(['trusted', 'declined', 'once', 'revoked'])
    expect(statSync(home.file).mode & 0o777).toBe(0o600)
  })

  const broken: readonly (readonly [string, string])[] = [
    ['a truncated line', '{"version":1,"id":"a"'],
    ['a line that is not JSON', 'trusted /home\n'],
    ['another version', '{"version":2}\n'],
    [
      'an unknown decision',
      '{"version":1,"id":"a","path":"/p","decision":"admin","decidedAt":"2026-01-01T00:00:00Z","digest":null}\n',
    ],
    [
      'trust without a digest',
      '{"version":1,"id":"a","path":"/p","decision":"trusted","decidedAt":"2026-01-01T00:00:00Z","digest":null}\n',
    ],
    ['a duplicate key', '{"version":1,"version":1}\n'],
    ['bytes that are not UTF-8', '\u0000\uFFFD\n'],
  ]
  test.each(broken)('with %s voids earlier trust and keeps refusals', async (_, text) => {
    using home = new TrustFixture()
    const refused = join(home.base, 'refused')
    home.extension(join(refused, '.bulkhead'), 'weather')
    await home.ledger.decide(refused, 'declined')
    await home.ledger.decide(home.workspace, 'trusted')
    appendFileSync(home.file, text)
    const report = await home.ledger.status(home.workspace)
    expect(report.status).toEqual({ kind: 'unknown' })
    expect(report.diagnostics).toMatchObject([
      { severity: 'warning', stage: 'trust', code: 'TrustEntryInvalid', location: home.file },
    ])
    expect(report.diagnostics[0]!.message).toContain('Line 3')
    expect((await home.ledger.status(refused)).status).toMatchObject({ kind: 'declined' })
    await home.ledger.decide(home.workspace, 'trusted')
    expect(await home.status()).toMatchObject({ kind: 'trusted' })
  })

  test.each([0o666, 0o620])('that others can write (%o) is neither read nor written', async (mode) => {
    using home = new TrustFixture()
    await home.ledger.decide(home.workspace, 'trusted')
    chmodSync(home.file, mode)
    const { status, diagnostics } = await home.ledger.status(home.workspace)
    expect(status).toEqual({ kind: 'unknown' })
    expect(diagnostics).toMatchObject([{ severity: 'error', code: 'TrustStoreUnavailable' }])
    expect(await codeOf(home.ledger.decide(home.workspace, 'trusted'))).toBe('TrustStoreUnavailable')
  })

  test('that is a folder trusts no project', async () => {
    using home = new TrustFixture()
    mkdirSync(home.file)
    expect((await home.ledger.status(home.workspace)).diagnostics).toMatchObject([{ code: 'TrustStoreUnavailable' }])
    expect(await codeOf(home.ledger.decide(home.workspace, 'trusted'))).toBe('TrustStoreUnavailable')
    expect(
      await codeOf(createLoader(home.options({ roots: { global: null } })).trust.decide(home.workspace, 'trusted')),
    )
      .toBe('TrustStoreUnavailable')
  })

  test.each(['there', 'behind a link'])('inside the project (%s) is neither read nor written', async (where) => {
    using home = new TrustFixture()
    const hidden = join(home.projectRoot, 'home')
    await home.ledger.decide(home.workspace, 'trusted')
    mkdirSync(hidden)
    writeFileSync(join(hidden, 'trust.jsonl'), readFileSync(home.file), { mode: 0o600 })
    const global = where === 'there' ? hidden : join(home.base, 'link')
    if (where !== 'there') symlinkSync(hidden, global)
    const { trust } = createLoader(home.options({ roots: { global } }))
    expect((await trust.status(home.workspace)).status).toEqual({ kind: 'unknown' })
    expect(await codeOf(trust.decide(home.workspace, 'trusted'))).toBe('TrustScopeViolation')
  })
})
