import type { CompartmentSession } from '@bulkhead/contract'
import { BulkheadError } from '@bulkhead/contract'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import type { PooledSandbox } from '../../src/index.ts'
import { codeOf, invocation, refusal, requestOf, REMOTE, running } from '../fixture.ts'
import { childrenOf, pooled, withoutSpares } from './pooled.ts'

const BOUND = { hulls: 2, threads: 2 }
const MANY = thoroughly(4, 12)

it.each([
  { spares: { process: -1 } }, { spares: { thread: 0.5 } }, { most: { hulls: 0 } }, { most: { threads: Infinity } },
])('a sandbox with %o is refused', (options) => {
  expect(() => pooled(options)).toThrow(expect.objectContaining({ code: 'ConfigInvalid' }))
})

describe.each(REMOTE)('a pool of two hulls in the placement %s', (placement) => {
  const request = (number: number, more: Partial<Parameters<typeof requestOf>[0]> = {}): ReturnType<typeof requestOf> =>
    requestOf({ placement, source: running(`return ${number}`), ...more })

  /** Opens a compartment that is busy until it is closed, so it is never evicted. */
  const openBusy = async (sandbox: PooledSandbox, number: number): Promise<CompartmentSession> => {
    const session = await sandbox.open(request(number, { source: running('await new Promise(() => undefined)') }))
    session.call(invocation()).catch(() => undefined)
    return session
  }

  it('counts spares, and ends them for openings that they do not fit', LONG, async () => {
    const sandbox = pooled({ most: BOUND, spares: { [placement]: 2 } })
    await sandbox.warm(placement)
    const before = childrenOf(process.pid).length
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: 2, inLine: 0 })
    const small = await sandbox.open(request(1, { limits: { heapMb: 32 } }))
    expect(sandbox.usage()[placement]).toEqual({ used: 1, spare: 1, inLine: 0 })
    await sandbox.warm(placement)
    await expect.poll(() => childrenOf(process.pid).length).toBe(before)
    const usual = await sandbox.open(request(2))
    expect(sandbox.usage()[placement]).toEqual({ used: 2, spare: 0, inLine: 0 })
    expect(await Promise.all([small, usual].map((session) => session.call(invocation())))).toEqual([1, 2])
  })

  it('frees a place however its compartment ended, and when it could not be opened', LONG, async () => {
    const sandbox = withoutSpares({ most: { hulls: 1, threads: 1 } })
    expect(await codeOf(sandbox.open(request(1, { source: 'throw new Error("no")' })))).toBe('CompartmentStartFailed')
    const crashing = await sandbox.open(request(1, { source: running('process.exit(3)') }))
    expect(await codeOf(crashing.call(invocation()))).toBe('CompartmentCrashed')
    const spinning = await sandbox.open(request(1, { source: running('for (;;);') }))
    const call = codeOf(spinning.call(invocation()))
    await spinning.close()
    expect(await call).toBe('CompartmentKilled')
    expect(await (await sandbox.open(request(2))).call(invocation())).toBe(2)
  })

  // The rest is the same code for both placements. `pnpm soak` runs it in both.
  if (thoroughly(placement === 'process', false)) return

  it('queues further openings, and serves them in order', async () => {
    const sandbox = pooled({ most: BOUND })
    const open = [await openBusy(sandbox, 0), await openBusy(sandbox, 1)]
    const opened: number[] = []
    const later = [2, 3, 4].map((number) => sandbox.open(request(number)).then((session) => {
      opened.push(number)
      return session
    }))
    await expect.poll(() => sandbox.usage()[placement]).toEqual({ used: 2, spare: 0, inLine: 3 })
    await open[0]!.close()
    const third = await later[0]!
    expect(opened).toEqual([2])
    await Promise.all([open[1]!.close(), third.close()])
    const last = await Promise.all(later.slice(1))
    expect(new Set(opened)).toEqual(new Set([2, 3, 4]))
    expect(await Promise.all(last.map((session) => session.call(invocation())))).toEqual([3, 4])
  })

  it('closes open compartments and rejects queued openings when the sandbox closes', async () => {
    const sandbox = withoutSpares({ most: BOUND })
    const open = await Promise.all([sandbox.open(request(0)), sandbox.open(request(1))])
    const inLine = [2, 3].map((number) => codeOf(sandbox.open(request(number))))
    await sandbox.close()
    expect(await Promise.all(inLine)).toEqual(['HostClosed', 'HostClosed'])
    expect(await Promise.all(open.map((session) => session.ended))).toEqual([{ kind: 'closed' }, { kind: 'closed' }])
    expect(sandbox.usage()[placement]).toEqual({ used: 0, spare: 0, inLine: 0 })
  })

  it('removes a cancelled opening from the queue', async () => {
    const sandbox = withoutSpares({ most: { hulls: 1, threads: 1 } })
    const first = await openBusy(sandbox, 1)
    const cancellation = new AbortController()
    const gaveUp = codeOf(sandbox.open(request(2, { signal: cancellation.signal })))
    const waits = sandbox.open(request(3))
    const hasty = new AbortController()
    const gaveUpToo = codeOf(sandbox.open(request(4, { signal: hasty.signal })))
    cancellation.abort(new BulkheadError('SessionCancelled', 'never mind'))
    hasty.abort(new Error('as any signal is aborted'))
    expect([await gaveUp, await gaveUpToo]).toEqual(['SessionCancelled', 'ToolCancelled'])
    expect(sandbox.usage()[placement]).toEqual({ used: 1, spare: 0, inLine: 1 })
    await first.close()
    expect(await (await waits).call(invocation())).toBe(3)
  })

  it('rejects an opening that waited too long with NoPlaceFree', async () => {
    const sandbox = withoutSpares({ most: { hulls: 1, threads: 1 } })
    await sandbox.open(request(1))
    const error = await refusal(sandbox.open(request(2, { limits: { startMs: 30 } })))
    expect([error.code, error.message]).toEqual(['NoPlaceFree', expect.stringContaining('None of the 1 places')])
    expect(sandbox.usage()[placement]).toEqual({ used: 1, spare: 0, inLine: 0 })
  })

  it('evicts an idle compartment for a queued opening, and opens it again for its next call', async () => {
    const sandbox = withoutSpares({ most: BOUND })
    const busy = await openBusy(sandbox, 0)
    const sessions = [await sandbox.open(request(1))]
    for (const number of [2, 3]) {
      const before = sessions.at(-1)!
      expect(await before.call(invocation())).toBe(number - 1)
      sessions.push(await sandbox.open(request(number)))
      expect(sandbox.usage()[placement]).toEqual({ used: 2, spare: 0, inLine: 0 })
    }
    expect(await sessions[0]!.call(invocation())).toBe(1)
    expect(await sessions[2]!.call(invocation())).toBe(3)
    expect(busy.inFlight).toBe(1)
  })

  it('serves each of many openings, and never exceeds its limit', LONG, async () => {
    const sandbox = pooled({ most: BOUND })
    const answers = await Promise.all(Array.from({ length: MANY }, async (_, number) => {
      const session: CompartmentSession = await sandbox.open(request(number))
      const { used, spare } = sandbox.usage()[placement]
      expect(used + spare).toBeLessThanOrEqual(2)
      const answer = await session.call(invocation())
      await session.close()
      return answer
    }))
    expect(answers).toEqual(Array.from({ length: MANY }, (_, number) => number))
  })
})
