import type { CompartmentEnd, CompartmentSession } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import type { PooledSandbox } from '../src/index.ts'
import { codeOf, invocation, requestOf, REMOTE, running } from './fixture.ts'
import { withoutSpares } from './pool/pooled.ts'

const IDLE_MS = 40
const PHASES = `
  let calls = 0
  export default {
    init({ log }) { log.info('init') },
    activate({ log }) { log.info('activate') },
    deactivate({ log }) { log.info('deactivate') },
    dispose({ log }) { log.info('dispose') },
    tools: { run: {
      async execute(args, runtime) {
        const kept = (await runtime.state.read())?.count ?? 0
        await runtime.state.write({ count: kept + 1 })
        return { inMemory: ++calls, kept: kept + 1 }
      },
      deriveApprovalKey: () => 'key ' + ++calls,
    } },
  }
`

describe.each(REMOTE)('an idle compartment in a %s', (placement) => {
  const evicted = async (sandbox: PooledSandbox): Promise<void> => {
    await expect.poll(() => sandbox.usage()[placement].used).toBe(0)
  }
  const unsettled = async (session: CompartmentSession): Promise<boolean> =>
    await Promise.race([session.ended, Promise.resolve('running' as const)]) === 'running'

  it('resolves every close only when it is gone, also after it ended on its own', LONG, async () => {
    const sandbox = withoutSpares()
    const session = await sandbox.open(requestOf({ placement, source: running('for (;;);'), limits: { graceMs: 10 } }))
    expect(await codeOf(session.call(invocation({}, { signal: AbortSignal.timeout(50) })))).toBe('ToolCancelled')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentKilled' } })
    await Promise.race([session.close(), session.close()])
    expect(sandbox.usage()[placement].used).toBe(0)
  })

  it('is closed, and opened again by the next call, with its phases run and its state kept', async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    let slot: Json = null
    const services = { state: { read: async () => slot, write: async (data: Json) => void (slot = data) } }
    const request = requestOf({ placement, source: PHASES, services })
    const session = await sandbox.open(request)
    const { id, offers } = session
    await session.lifecycle('init')
    await session.lifecycle('activate')
    expect(await session.call(invocation())).toEqual({ inMemory: 1, kept: 1 })
    expect(await session.call(invocation())).toEqual({ inMemory: 2, kept: 2 })
    await evicted(sandbox)
    expect(await unsettled(session)).toBe(true)
    expect(session.inFlight).toBe(0)
    expect(await session.call(invocation())).toEqual({ inMemory: 1, kept: 3 })
    expect([session.id, session.offers]).toEqual([id, offers])
    await evicted(sandbox)
    expect(await session.deriveApprovalKey('run', {}, new AbortController().signal)).toBe('key 1')
    await session.lifecycle('deactivate')
    await session.lifecycle('dispose')
    await session.close()
    expect(await session.ended).toEqual({ kind: 'closed' })
    expect(request.logged.map((entry) => entry.text)).toEqual([
      ...['init', 'activate', 'deactivate', 'dispose'],
      ...['init', 'activate', 'deactivate', 'dispose'],
      ...['init', 'activate', 'deactivate', 'dispose'],
    ])
  })

  it('ends the session when it dies while open, but not when it dies during eviction', LONG, async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const source = `export default {
      init() {},
      dispose() { process.exit(7) },
      tools: { run: { execute: ({ die }) => die ? process.exit(3) : 'alive' } },
    }`
    const request = requestOf({ placement, source })
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    await evicted(sandbox)
    await expect.poll(() => request.logged.map(({ text }) => text).join()).toMatch(/dispose failed before a pause/)
    expect(await session.call(invocation())).toBe('alive')
    expect(await codeOf(session.call(invocation({ die: true })))).toBe('CompartmentCrashed')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentCrashed' } })
    expect(await codeOf(session.call(invocation()))).toBe('CompartmentGone')
  })

  // The rest is the same code for both placements. `pnpm soak` runs it in both.
  if (thoroughly(placement === 'process', false)) return

  it('is opened once for several calls at once, and answers all of them', async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const request = requestOf({
      placement,
      source: `
        let calls = 0
        export default { init({ log }) { log.info('init') }, tools: { run: { execute: () => ++calls } } }
      `,
    })
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    await evicted(sandbox)
    const answers = await Promise.all(Array.from({ length: 5 }, () => session.call(invocation())))
    expect(answers).toEqual([1, 2, 3, 4, 5])
    expect(request.logged).toHaveLength(2)
  })

  it('is not closed while a call runs, however long it takes', async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const answer = Promise.withResolvers<Json>()
    const services = { state: { read: () => answer.promise, write: async () => undefined } }
    const busy = await sandbox.open(requestOf({ placement, source: running('return runtime.state.read()'), services }))
    const call = busy.call(invocation())
    for (const _ of [1, 2]) {
      const idle = await sandbox.open(requestOf({ placement, source: running('') }))
      await expect.poll(() => sandbox.usage()[placement].used).toBe(1)
      await idle.close()
    }
    answer.resolve('at last')
    expect(await call).toBe('at last')
    await evicted(sandbox)
  })

  it('counts its idle time from the end of the last call', async () => {
    const idleMs = 150
    const sandbox = withoutSpares({ idleMs })
    const answer = Promise.withResolvers<Json>()
    const services = { state: { read: () => answer.promise, write: async () => undefined } }
    const busy = await sandbox.open(requestOf({ placement, source: running('return runtime.state.read()'), services }))
    const call = busy.call(invocation())
    const idle = await sandbox.open(requestOf({ placement, source: running('') }))
    await expect.poll(() => sandbox.usage()[placement].used).toBe(1)
    await idle.close()
    // Set before the call ends, so the idle time begins later. Timers fire in the order in which they are due.
    let hasPassed = false
    setTimeout(() => { hasPassed = true }, idleMs - 5)
    answer.resolve('at last')
    await call
    await expect.poll(() => sandbox.usage()[placement].used, { interval: 5 }).toBe(0)
    expect(hasPassed).toBe(true)
  })

  it('stays open when idleMs is longer than a timer can wait', async () => {
    const warnings: Error[] = []
    const listener = (warning: Error) => void warnings.push(warning)
    process.on('warning', listener)
    const sandbox = withoutSpares({ idleMs: 2 ** 40 })
    const session = await sandbox.open(requestOf({ placement, source: running('return 1') }))
    expect(await session.call(invocation())).toBe(1)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', listener)
    expect([warnings, sandbox.usage()[placement].used]).toEqual([[], 1])
  })

  it('is not opened again to run its last phases', async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const request = requestOf({ placement, source: PHASES })
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    await session.lifecycle('activate')
    await evicted(sandbox)
    await session.lifecycle('deactivate')
    await session.lifecycle('dispose')
    expect(sandbox.usage()[placement].used).toBe(0)
    expect(request.logged.map((entry) => entry.text)).toEqual(['init', 'activate', 'deactivate', 'dispose'])
    await session.close(new BulkheadError('HostClosed', 'bye'))
    expect(await session.ended).toEqual({ kind: 'closed' })
    expect(await codeOf(session.call(invocation()))).toBe('HostClosed')
  })

  it('ends the session with the reason when it cannot be opened again', LONG, async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const starting = (body: string): Buffer =>
      Buffer.from(`export default { init() { ${body} }, tools: { run: { execute() {} } } }`)
    const files = new Map([['index.js', starting('')]])
    const request = requestOf({ placement, source: '' })
    const session = await sandbox.open({ ...request, code: { kind: 'files', main: './index.js', files } })
    await session.lifecycle('init')
    await evicted(sandbox)
    files.set('index.js', starting('throw new Error("not again")'))
    const calls = [1, 2].map(() => codeOf(session.call(invocation())))
    expect(await Promise.all(calls)).toEqual(['LifecycleFailure', 'LifecycleFailure'])
    expect(await session.ended)
      .toMatchObject({ kind: 'failed', error: { code: 'LifecycleFailure', message: 'not again' } })
    await expect.poll(() => sandbox.usage()[placement].used).toBe(0)
  })

  it('can be closed in any state', LONG, async () => {
    const ends: CompartmentEnd[] = []
    const sandbox = withoutSpares({ idleMs: 1 })
    for (const turns of thoroughly([0, 3, 30, 300], [0, 1, 3, 10, 30, 100, 300, 1_000])) {
      const session = await sandbox.open(requestOf({ placement, source: PHASES }))
      await session.lifecycle('init').catch(() => undefined)
      const call = session.deriveApprovalKey('run', {}, new AbortController().signal)
        .catch((error: BulkheadError) => error.code)
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
      await session.close()
      expect(['key 1', 'CompartmentKilled']).toContain(await call)
      ends.push(await session.ended)
    }
    expect(new Set(ends.map(({ kind }) => kind))).toEqual(new Set(['closed']))
    expect(sandbox.usage()[placement].used).toBe(0)
  })

  it.each([
    undefined, 60_000,
  ])('has ended before `quiet` resolves if a cancelled call kills it: idleMs %s', async (idleMs) => {
    const session = await withoutSpares(idleMs === undefined ? {} : { idleMs }).open(
      requestOf({ placement, source: running('for (;;);'), limits: { graceMs: 20 } }))
    const given = new AbortController()
    const call = codeOf(session.call(invocation({}, { signal: given.signal })))
    given.abort(new BulkheadError('TurnCancelled', 'enough'))
    expect(await call).toBe('TurnCancelled')
    const order: string[] = []
    await Promise.all([session.quiet!.then(() => order.push('quiet')), session.ended.then(() => order.push('ended'))])
    expect(order).toEqual(['ended', 'quiet'])
  })

  it('rejects a caller that cancels while the compartment opens', LONG, async () => {
    const sandbox = withoutSpares({ idleMs: IDLE_MS })
    const session = await sandbox.open(requestOf({ placement, source: running('return 1') }))
    await evicted(sandbox)
    const cancellation = new AbortController()
    const given = codeOf(session.call(invocation({}, { signal: cancellation.signal })))
    const other = session.call(invocation())
    expect(session.inFlight).toBe(2)
    cancellation.abort(new BulkheadError('TurnCancelled', 'enough'))
    expect(await given).toBe('TurnCancelled')
    expect(await other).toBe(1)
  })
})
