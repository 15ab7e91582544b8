// @module-tag long
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import {
  createHost, openSqliteStore, type Host, type InteractionRequest, type Json, type Outcome, type Session,
} from '../../src/index.ts'
import { CACHE } from '../cache.ts'
import { inside } from '../command-inside.ts'
import {
  ARCHIVE, claimPlace, clear, DECLINED, expectedOf, EXPORT, HOME, KILLED, layOut, ONCE, ROOT, storeIn, WORKSPACE,
} from './place.ts'

// What an earlier version wrote. A change that breaks one of these breaks the files of every user: do not adapt the
// fixture.
const VERSION = 'v1'
const expected = expectedOf(VERSION)

// On other systems /tmp may be a link, and then the workspace has another path.
describe('files that an earlier version wrote:', needs('Linux'), () => {
  let place: Disposable
  let hosts: Host[]
  beforeAll(async () => { place = await claimPlace() })
  afterAll(() => place[Symbol.dispose]())
  beforeEach(() => {
    layOut(VERSION)
    hosts = []
  })
  afterEach(async () => {
    await Promise.all(hosts.map((host) => host.close()))
    clear()
  })

  /** The extension has variables and secrets, so its tools need approval. */
  const AGREEABLE = { approver: { approve: async () => ({ decision: 'once' as const }) } }
  const LIGHT = { sandbox: { spares: { process: 0 } } } as const

  /** A host of the fixture, and every question that it asks; each is declined. */
  async function open(folder = HOME, workspace = WORKSPACE) {
    const asked: InteractionRequest[] = []
    const interactor = { interact: async ({ request }: { readonly request: InteractionRequest }) => {
      asked.push(request)
      return { status: 'rejected' as const }
    } }
    const store = await openSqliteStore({ file: storeIn(folder) })
    const host = await createHost({
      workspace, home: HOME, cache: CACHE, store, interactor, env: {},
      config: { ...LIGHT, approvals: { project: true } },
    })
    hosts.push(host)
    return { host, store, asked, interactor }
  }

  const call = (session: Session, name: string, args: { readonly [name: string]: Json } = {}) =>
    session.call({ id: crypto.randomUUID(), name, arguments: args })
  const resultOf = (outcome: Outcome): unknown => outcome.type === 'output' ? outcome.data : outcome.error.code
  const namesOf = (host: Host): readonly string[] => host.tools().map(({ name }) => name)

  async function run(...args: readonly string[]) {
    const { code, stdout } = await inside([...args, '--json'], ROOT)
    return { code, answer: JSON.parse(stdout) as unknown }
  }

  interface Line {
    readonly position: number
    readonly record: {
      readonly type: string
      readonly callId?: string
      readonly errorCode?: string
      readonly decision?: string
    }
  }
  const linesOf = (file: string): readonly Line[] =>
    readFileSync(file, 'utf8').trimEnd().split('\n').slice(1).map((line) => JSON.parse(line) as Line)

  describe('an audit', () => {
    const verify = (...args: readonly string[]) => run('audit', 'verify', ...args)

    it('verifies in the store, in the export and in the archive, as one chain', async () => {
      const [first] = linesOf(EXPORT)
      expect(await verify('--home', HOME, '--anchor', expected.anchor)).toMatchObject({
        code: 0, answer: { ok: true, first: first!.position, records: linesOf(EXPORT).length },
      })
      expect(await verify('--home', HOME, '--anchor', expected.archiveAnchor)).toMatchObject({ code: 0 })
      expect(await verify(EXPORT, '--anchor', expected.anchor)).toMatchObject({ code: 0 })
      expect(await verify(ARCHIVE, '--anchor', expected.archiveAnchor)).toMatchObject({
        code: 0, answer: { ok: true, first: 1 },
      })
    })

    it('is exported and read as it was', async () => {
      expect((await inside(['audit', 'export', '--home', HOME], ROOT)).stdout).toBe(readFileSync(EXPORT, 'utf8'))
      const lines = linesOf(EXPORT)
      const store = await openSqliteStore({ file: storeIn(HOME) })
      const read = (await store.records()).map(({ position, record }) => ({ position, record }))
      await store.close()
      expect(read).toEqual(lines.map(({ position, record }) => ({ position, record })))
      const ends = [...linesOf(ARCHIVE), ...lines].flatMap(({ record: { type, callId = '', errorCode = '' } }) => {
        const [, how] = /^ToolInvocation(Succeeded|Failed|Cancelled)$/.exec(type) ?? []
        return how === undefined ? [] : [`${callId} ${how} ${errorCode}`.trim()]
      })
      expect(ends).toEqual([
        'Roald Succeeded', 'Fridtjof Succeeded', 'nested.1 Succeeded', 'nested Succeeded', '1 Succeeded', '2 Succeeded',
        '3 Succeeded', '4 Succeeded', '5 Succeeded', 'fails Failed ToolExecutionFailed', 'slow Failed ExecutionTimeout',
        'cancelled Cancelled ToolCancelled', 'session Succeeded', 'rejected Cancelled ApprovalDenied',
        'ruled Cancelled RuleDenied', 'cli Succeeded', 'again Succeeded', 'p Failed ClarificationNeeded',
        'p Failed ClarificationNeeded',
      ])
    })

    it('verifies after the present code has added records', async () => {
      const { host } = await open()
      await call(await host.openSession(AGREEABLE), 'count')
      await host.close()
      const { code, answer } = await verify('--home', HOME, '--anchor', expected.anchor)
      expect([code, (answer as { readonly last: number }).last > linesOf(EXPORT).at(-1)!.position]).toEqual([0, true])
    })

    it('fails to verify when one byte has changed, or when the anchor is another', async () => {
      for (const file of [EXPORT, ARCHIVE]) {
        writeFileSync(file, readFileSync(file, 'utf8').replace('"type":"SessionOpened"', '"type":"SessionOpenee"'))
        expect(await verify(file)).toMatchObject({ code: 1, answer: { ok: false } })
      }
      const other = expected.anchor.replace(/.$/, (last) => last === '0' ? '1' : '0')
      expect(await verify('--home', HOME, '--anchor', other)).toMatchObject({ code: 1 })
      const database = new DatabaseSync(storeIn(HOME))
      const last = "(SELECT max(position) FROM audit WHERE record LIKE '%Roald%')"
      database.exec(`UPDATE audit SET record = replace(record, 'Roald', 'Roale') WHERE position = ${last}`)
      database.close()
      expect(await verify('--home', HOME)).toMatchObject({ code: 1, answer: { ok: false } })
    })
  })

  describe('a lock', () => {
    const verify = () => run('verify', '--trust-project', '--home', HOME, '--workspace', WORKSPACE)
    const lock = (folder: string) => JSON.parse(readFileSync(join(folder, 'bulkhead.lock'), 'utf8')) as
      { readonly extensions: Readonly<Record<string, { readonly root: string; readonly version: string }>> }

    it('verifies what is installed, which loads and runs without a question', async () => {
      const { code, answer } = await verify()
      const accepted = { ...lock(HOME).extensions, ...lock(join(WORKSPACE, '.bulkhead')).extensions }
      expect(Object.keys(accepted).toSorted()).toEqual(['buoy', 'deck', 'harbour', 'own'])
      expect([code, (answer as { readonly diagnostics: unknown }).diagnostics]).toEqual([0, []])
      for (const [id, { root, version }] of Object.entries(accepted)) {
        expect(answer).toMatchObject({ extensions: expect.arrayContaining([expect.objectContaining({
          id, version, integrity: 'verified', digests: expect.objectContaining({ package: root }),
        })]) })
      }
      const { host, asked, interactor } = await open()
      const session = await host.openSession({ interactor })
      expect([resultOf(await call(session, 'ring')), resultOf(await call(session, 'swab'))]).toEqual(['ding', 'clean'])
      expect([host.diagnostics, asked]).toEqual([[], []])
    })

    it('rejects an installed file with one changed byte', async () => {
      const installed = join(HOME, 'installed')
      const file = join(installed, readdirSync(installed).find((name) => name.startsWith('buoy-'))!, 'index.js')
      writeFileSync(file, readFileSync(file, 'utf8').replace('ding', 'dong'))
      expect(await verify()).toMatchObject({ code: 1 })
      const { host } = await open()
      expect(namesOf(host)).toContain('greet')
      expect(namesOf(host)).not.toContain('ring')
    })
  })

  describe('a trust record', () => {
    const config = (workspace: string) => join(workspace, '.bulkhead/config.json')
    const questions = async (workspace: string) => {
      const { host, asked } = await open(HOME, workspace)
      await host.close()
      return asked.map(({ kind }) => kind)
    }

    it('holds for the unchanged project', async () => {
      const { host, asked } = await open()
      expect(namesOf(host)).toEqual(expect.arrayContaining(['own_count', 'swab']))
      expect(asked).toEqual([])
      const { answer } = await run('trust', '--list', '--home', HOME)
      expect(JSON.stringify(answer)).toContain(WORKSPACE)
    })

    it('does not hold for a changed project', async () => {
      writeFileSync(config(WORKSPACE), '{}')
      const { host, asked } = await open()
      expect(asked).toMatchObject([{ kind: 'trustProject', path: WORKSPACE }])
      expect(namesOf(host)).not.toContain('own_count')
    })

    it('declines until the project changes, and trusts once', async () => {
      expect(await questions(DECLINED)).toEqual([])
      writeFileSync(config(DECLINED), '{}')
      expect(await questions(DECLINED)).toEqual(['trustProject'])
      expect([await questions(ONCE), await questions(ONCE)]).toEqual([[], ['trustProject']])
    })
  })

  it('approvals for the project still answer while they are enabled, and those that were revoked do not', async () => {
    const { host, asked, interactor } = await open()
    const standing = await host.approvals.list()
    expect(standing.map(({ tool, approvalKey, callers }) => [tool, approvalKey, callers?.length ?? 0])).toEqual([
      ['greet', 'Roald', 0], ['relay', 'relay', 0], ['greet', 'Otto', 1],
    ])
    expect(standing[0]).toMatchObject({
      status: 'standing', scope: 'project', grantedBy: 'Ada', uses: 1, workspace: WORKSPACE,
    })
    expect(await host.approvals.damaged()).toEqual([])
    const session = await host.openSession({ interactor })
    expect(resultOf(await call(session, 'greet', { name: 'Roald' }))).toBe('hello Roald')
    expect(resultOf(await call(session, 'relay', { name: 'Otto' }))).toBe('hello Otto')
    expect(asked).toEqual([])
    // An approval of a nested call, one that was revoked and one of a session that has ended.
    for (const name of ['Otto', 'Fridtjof', 'Hjalmar'])
      expect(resultOf(await call(session, 'greet', { name }))).toBe('ApprovalDenied')
    expect(asked.map(({ kind }) => kind)).toEqual(['Approve', 'Approve', 'Approve'])
    await host.close()
    const { answer } = await run('approvals', 'list', '--project', WORKSPACE, '--home', HOME)
    expect(answer).toMatchObject([
      { approvalKey: 'Roald', uses: 2 }, { approvalKey: 'relay', uses: 1 }, { approvalKey: 'Otto', uses: 1 },
    ])
  })

  it('state of a global extension and of one of the project is read back', async () => {
    const { host } = await open()
    const session = await host.openSession(AGREEABLE)
    expect([resultOf(await call(session, 'count')), resultOf(await call(session, 'own_count'))]).toEqual([
      { count: 4 }, { count: 3 },
    ])
  })

  it('a paused call is resumed to its outcome, with the answers that were given before', async () => {
    const { host } = await open()
    expect(await host.pausedCalls()).toMatchObject([{
      id: expected.paused, status: 'clarification_needed', call: { id: 'p', name: 'plan', arguments: {} },
      question: { kind: 'Select', prompt: 'Which ship?' },
    }])
    const session = await host.openSession({ ...AGREEABLE, pause: true })
    expect(resultOf(await session.resume(expected.paused, 'Fram'))).toBe('ClarificationNeeded')
    expect(await host.pausedCalls()).toMatchObject([{ question: { kind: 'Confirm', prompt: 'Is that right?' } }])
    expect(resultOf(await session.resume(expected.paused, true))).toEqual({ harbour: 'Oslo', ship: 'Fram', sure: true })
    expect(await host.pausedCalls()).toEqual([])
  })

  describe('a store whose host was killed', () => {
    const verify = () => run('audit', 'verify', '--home', KILLED, '--anchor', expected.killedAnchor)

    it('opens with its log, and its audit verifies', async () => {
      expect(await verify()).toMatchObject({ code: 0, answer: { ok: true } })
      const { host } = await open(KILLED)
      expect(resultOf(await call(await host.openSession(AGREEABLE), 'count'))).toEqual({ count: 2 })
    })

    it('is rejected without its log', async () => {
      rmSync(`${storeIn(KILLED)}-wal`)
      await expect(openSqliteStore({ file: storeIn(KILLED) })).rejects.toMatchObject({ code: 'StoreUnavailable' })
    })

    it('has its interrupted calls closed exactly once, with unknown outcomes: it noted no effects', async () => {
      const { host, store } = await open(KILLED)
      const interrupted = await host.interruptedCalls()
      const closed = interrupted.map(({ outcome: { error, metadata } }) => [
        metadata.call_id, metadata.tool, error.code,
      ])
      expect(closed.toSorted()).toEqual([['open', 'hang', 'OutcomeUnknown'], ['p', 'plan', 'OutcomeUnknown']])
      await host.flush()
      const records = (await store.records()).map(({ record }) => record as Line['record'])
      const ends = records.filter(({ errorCode }) => errorCode === 'OutcomeUnknown')
      expect(ends.map(({ callId }) => callId).toSorted()).toEqual(['open', 'p'])
      await host.close()
      expect(readdirSync(KILLED)).toEqual(['bulkhead.db'])
      const { host: next } = await open(KILLED)
      expect(await next.interruptedCalls()).toEqual([])
      await next.close()
      expect(await verify()).toMatchObject({ code: 0 })
    })

    it('has its claimed call resumed by the next host', async () => {
      const { host } = await open(KILLED)
      expect(await host.pausedCalls()).toMatchObject([{ id: expected.killedPaused, status: 'answered' }])
      const session = await host.openSession({ ...AGREEABLE, pause: true })
      expect(resultOf(await session.resume(expected.killedPaused))).toBe('ClarificationNeeded')
      expect(resultOf(await session.resume(expected.killedPaused, 'Gjoa'))).toBe('ClarificationNeeded')
      expect(resultOf(await session.resume(expected.killedPaused, false))).toEqual({
        harbour: 'Bergen', ship: 'Gjoa', sure: false,
      })
      expect(await host.pausedCalls()).toEqual([])
    })
  })
})
