import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { needs } from '../../../../scripts/machine.ts'
import { ONLY_IN_SOAK, thoroughly } from '../../../../scripts/thoroughly.ts'
import { type BulkheadEvent, defineTool, type Host, type Interactor } from '../../src/index.ts'
import { inside } from '../command-inside.ts'
import { IN_THREADS, NO_PAUSE } from '../extension-folder.ts'
import { Bank } from './bank.ts'
import { writeFar } from './far.ts'
import { Fleet, type WorkerProcess } from './fleet.ts'

const MB = 1024 ** 2
/** The longest takes 12 s. Besides the text, the result has some two hundred bytes. */
const LARGE = thoroughly(3_000_000, 64 * MB - 400)
const LIMITS = thoroughly({}, { outputBytes: 80 * MB, messageBytes: 100 * MB, memoryMb: 2_000, heapMb: 1_000 })
const LABELS = ['gpu']
const LABELS_THERE = ['gpu', 'region=eu']
const person: Interactor = { interact: async () => ({ status: 'accepted', value: 'Bergen' }) }

describe('a call on a worker', needs('PostgreSQL'), () => {
  let fleet: Fleet
  let host: Host
  let worker: WorkerProcess
  let shop: string
  let bank: Bank
  const events: BulkheadEvent[] = []
  beforeAll(async () => {
    bank = await Bank.open()
    fleet = await Fleet.open()
    writeFar(fleet.home, bank.place)
    shop = join(fleet.folder, 'shop')
    mkdirSync(join(shop, 'open'), { recursive: true })
    host = await fleet.host({
      config: { ...NO_PAUSE, limits: LIMITS, extensions: { far: { runsOn: { labels: LABELS, workspace: 'shop' } } } },
    })
    host.on((event) => events.push(event))
    await host.register(defineTool({
      name: 'near', description: 'Runs at the caller.', input: { type: 'object' }, gated: false, mode: 'read',
      effects: 'none', requires: {}, execute: () => ({ pid: process.pid }),
    }))
    fleet.trustPackages(host)
    const ceiling = join(fleet.folder, 'ceiling.json')
    writeFileSync(ceiling, JSON.stringify({
      fs: { read: ['{workspace}/**'], write: ['{workspace}/open/*'] }, net: { hosts: [bank.place] },
      secrets: ['PAY_KEY'], capabilities: ['interact', 'tools.call', 'session'], state: true,
    }))
    const options = ['--labels', 'region=eu,gpu', '--workspace', `shop=${shop}`, '--ceiling', ceiling, '--health', '0']
    worker = fleet.command(options, { PAY_KEY: 'open sesame' })
    await worker.until('ready')
  })
  afterAll(async () => {
    bank.close()
    await fleet[Symbol.asyncDispose]()
  })

  const open = () => host.openSession({ mode: 'yolo', interactor: person })
  let calls = 0
  const call = async (name: string, args: object, session = open()) =>
    (await session).call({ id: `call-${++calls}`, name, arguments: args as never })

  it('runs in another process, and the host lists the worker', async () => {
    expect(await call('where', {})).toMatchObject({ type: 'output', data: { pid: expect.any(Number) as number } })
    expect(await host.workers()).toMatchObject([{
      labels: LABELS_THERE, workspaces: ['shop'], state: 'ready', load: 0, capacity: 8, pid: worker.child.pid,
    }])
    const health = await fetch(`http://127.0.0.1:${Number(worker.said('ready')!['healthPort'])}/health`)
    expect(health.status).toBe(200)
    expect(await health.json()).toMatchObject({ state: 'ready', load: 0, labels: LABELS_THERE })
  })

  it('shows in the list of workers', async () => {
    const place = ['--home', fleet.home, '--store', fleet.url]
    const { stdout } = await inside(['workers', ...place], fleet.folder)
    expect(stdout).toMatch(/ready +0\/8 +gpu,region=eu +shop /)
    const json = await inside(['workers', '--json', ...place], fleet.folder)
    expect(JSON.parse(json.stdout)).toMatchObject({ workers: [{ labels: LABELS_THERE, pid: worker.child.pid }] })
  })

  it('runs there because of a rule, and others run here; explain says where', async () => {
    mkdirSync(join(fleet.workspace, '.bulkhead'), { recursive: true })
    const runsOn = { labels: LABELS }
    const rule = (permission: string) => ({ permission, pattern: '*', action: 'allow', runsOn } as const)
    writeFileSync(join(fleet.workspace, '.bulkhead/config.json'), JSON.stringify({ rules: [rule('large')] }))
    const other = await fleet.host({ config: { ...IN_THREADS, rules: [rule('where')] }, trust: 'trusted' })
    const session = await other.openSession({ mode: 'yolo' })
    const results = [
      await session.call({ id: 'by-rule', name: 'where', arguments: {} }),
      await session.call({ id: 'by-project', name: 'large', arguments: { chars: 1 } }),
    ]
    expect(results).toMatchObject([{ type: 'output' }, { type: 'output' }])
    await expect.poll(() => worker.lines).toContainEqual(expect.objectContaining({ call: 'by-rule' }))
    expect(worker.lines).not.toContainEqual(expect.objectContaining({ call: 'by-project' }))
    expect(other.diagnostics.map(({ message }) => message)).toContainEqual(
      expect.stringContaining('A project cannot choose the machine of a tool'))
    const explained = await session.explain({ id: 'e1', name: 'where', arguments: {} })
    expect(explained.runsOn).toMatchObject({
      labels: LABELS, ready: [expect.any(String)], reasons: [],
      rule: expect.stringContaining('where') as string,
    })
    expect((await session.explain({ id: 'e2', name: 'large', arguments: { chars: 1 } })).runsOn).toBeUndefined()
    const place = ['--home', fleet.home, '--workspace', fleet.workspace, '--trust-project']
    const elsewhere = { extensions: { far: { runsOn: { labels: ['tpu'] } } } }
    writeFileSync(join(fleet.home, 'config.json'), JSON.stringify(elsewhere))
    const command = ['explain', 'where', '--mode', 'yolo', ...place]
    const { stdout } = await inside(command, fleet.folder, { BULKHEAD_STORE: fleet.url })
    rmSync(join(fleet.home, 'config.json'))
    expect(stdout).toMatch(/runs on: a worker with tpu; none is ready\. The worker on .* does not have tpu\./)
  })

  it('uses the services of its caller', async () => {
    const session = await open()
    const result = (n: number) => call('talks', { n }, Promise.resolve(session))
    expect(await result(1)).toMatchObject({
      data: { answer: 'Bergen', before: null, seen: null, near: { pid: process.pid }, kept: 2 },
    })
    expect(await result(2)).toMatchObject({ data: { before: { n: 1 }, seen: { n: 1 } } })
    const seen = events.filter((event) => 'callId' in event && event.callId === `call-${calls}`)
    const types = seen.map(({ type }) => type).filter((type) => !type.startsWith('Interaction'))
    expect(types).toEqual([
      'ToolInvocationProposed', 'ToolInvocationDecided', 'ToolInvocationStarted', 'ExtensionLog',
      'ToolInvocationProgress', 'ToolInvocationUpdated', 'ToolInvocationSucceeded',
    ])
    expect(seen).toContainEqual(expect.objectContaining({ type: 'ExtensionLog', text: 'said', level: 'info' }))
    expect(seen).toContainEqual(expect.objectContaining({ type: 'ToolInvocationUpdated', partial: { n: 2 } }))
  })

  it('returns a result of many parts', async () => {
    const { type, metadata } = await call('large', { chars: LARGE })
    expect([type, metadata.truncated, statSync(metadata.output_path!).size]).toEqual(['output', true, LARGE])
  })

  it('frees its key when the result is larger than 64 MB, because it began nothing', ONLY_IN_SOAK, async () => {
    const session = await open()
    const again = (id: string, chars: number) =>
      session.call({ id, name: 'large', arguments: { chars }, idempotencyKey: 'large' })
    const text = expect.stringContaining('67108864 cross from a worker') as string
    for (const id of ['first', 'second']) {
      expect(await again(id, 64 * MB)).toMatchObject({ error: { code: 'OutputTooLarge' }, error_text: text })
    }
    expect(await again('third', 1)).toMatchObject({ type: 'output' })
    await expect.poll(async () => (await host.workers())[0]!.load).toBe(0)
  })

  it('is cancelled by its caller', async () => {
    const session = await open()
    const waiting = call('waits', {}, Promise.resolve(session))
    const progress = () => events.findLast(({ type }) => type === 'ToolInvocationProgress')
    await expect.poll(progress).toMatchObject({ text: 'waits' })
    session.cancel()
    expect(await waiting).toMatchObject({ type: 'error', error: { code: 'SessionCancelled' } })
    await expect.poll(async () => (await host.workers())[0]!.load).toBe(0)
  })

  it('uses the workspace of the worker, below the ceiling of the worker', async () => {
    expect(await call('writes', { path: 'open/a.txt' })).toMatchObject({ type: 'output', data: ['open'] })
    expect(readFileSync(join(shop, 'open/a.txt'), 'utf8')).toBe('far')
    expect(existsSync(join(fleet.workspace, 'open'))).toBe(false)
    expect(events.at(-1)).toMatchObject({
      type: 'ToolInvocationSucceeded', uses: [{ part: 'fs.write', subject: 'open/a.txt', writtenBytes: 3 }, {}],
    })
    expect(await call('writes', { path: 'closed.txt' })).toMatchObject({ error: { code: 'CapabilityDenied' } })
    expect(existsSync(join(shop, 'closed.txt'))).toBe(false)
  })

  it('uses a secret that only the worker has', async () => {
    const outcome = await call('pays', { url: bank.url })
    expect(outcome).toMatchObject({ type: 'output', data: { text: expect.stringContaining('key Bearer') as string } })
    expect(JSON.stringify(outcome)).not.toContain('open sesame')
  })
})
