import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { LONG, thoroughly } from '../../../scripts/thoroughly.ts'
import { codeOf, invocation, requestOf, REMOTE, running } from './fixture.ts'
import { withoutSpares } from './pool/pooled.ts'

/** Each compartment has a random number and returns it from every call. */
const NUMBERED = `
  const own = Math.random()
  export default {
    init({ log }) { log.info('init') },
    tools: { run: { async execute({ die, wait }, runtime) {
      if (die) process.exit(3)
      if (wait) await new Promise((resolve) => runtime.signal.addEventListener('abort', resolve))
      return own
    } } },
  }
`

describe.each(REMOTE)('an extension in several compartments, each in a %s', (placement) => {
  const spread = (concurrency: number, source = NUMBERED): ReturnType<typeof requestOf> =>
    ({ ...requestOf({ placement, source }), concurrency })

  it('has its calls spread over them, and its phases run in each of them', LONG, async () => {
    const sandbox = withoutSpares()
    const request = spread(3)
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    expect(request.logged.map(({ text }) => text)).toEqual(['init', 'init', 'init'])
    expect(sandbox.usage()[placement].used).toBe(3)
    const cancellation = new AbortController()
    const busy = [1, 2].map(() => codeOf(session.call(invocation({ wait: true }, { signal: cancellation.signal }))))
    expect(session.inFlight).toBe(2)
    const answers = new Set([await session.call(invocation()), await session.call(invocation())])
    expect(answers.size).toBe(1)
    cancellation.abort()
    expect(await Promise.all(busy)).toEqual(['ToolCancelled', 'ToolCancelled'])
    await expect.poll(() => session.inFlight).toBe(0)
    expect(new Set(await Promise.all(Array.from({ length: 6 }, () => session.call(invocation())))).size).toBe(3)
    await Promise.race([session.close(), session.close()])
    expect(await session.ended).toEqual({ kind: 'closed' })
    expect(sandbox.usage()[placement].used).toBe(0)
  })

  it('goes on when one of them dies: the calls of that one fail, and the next call replaces it', async () => {
    const sandbox = withoutSpares()
    const request = spread(2)
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    expect(await codeOf(session.call(invocation({ die: true })))).toBe('CompartmentCrashed')
    expect(typeof await session.call(invocation())).toBe('number')
    await expect.poll(async () => new Set(await Promise.all([1, 2].map(() => session.call(invocation())))).size).toBe(2)
    expect(request.logged).toHaveLength(3)
    expect(await Promise.race([session.ended, Promise.resolve('running')])).toBe('running')
  })

  // The rest is the same code for both placements. `pnpm soak` runs it in both.
  if (thoroughly(placement === 'process', false)) return

  it('uses the ones that are left while there is no place for another', LONG, async () => {
    const sandbox = withoutSpares({ most: { hulls: 2, threads: 2 } })
    const request = spread(2)
    const session = await sandbox.open({ ...request, limits: { ...request.limits, startMs: 4_000 } })
    expect(await codeOf(session.call(invocation({ die: true })))).toBe('CompartmentCrashed')
    // Otherwise the compartment that is left would be evicted.
    await expect.poll(() => sandbox.usage()[placement].used).toBe(1)
    const other = await sandbox.open(requestOf({ placement, source: NUMBERED }))
    const busy = [session, other].map((one) => codeOf(one.call(invocation({ wait: true }))))
    expect(typeof await session.call(invocation())).toBe('number')
    expect(sandbox.usage()[placement].inLine).toBe(1)
    await expect.poll(() => sandbox.usage()[placement].inLine).toBe(0)
    expect(typeof await session.call(invocation())).toBe('number')
    expect(session.inFlight).toBe(1)
    await other.close()
    await expect.poll(async () => new Set(await Promise.all([1, 2, 3].map(() => session.call(invocation())))).size)
      .toBe(2)
    await session.close()
    expect(await Promise.all(busy)).toEqual(['CompartmentKilled', 'CompartmentKilled'])
  })

  it('is not evicted for a place that one of its own compartments waits for', LONG, async () => {
    const sandbox = withoutSpares({ most: { hulls: 2, threads: 2 } })
    const session = await sandbox.open(spread(2))
    expect(await codeOf(session.call(invocation({ die: true })))).toBe('CompartmentCrashed')
    await expect.poll(() => sandbox.usage()[placement].used).toBe(1)
    const other = await sandbox.open(requestOf({ placement, source: NUMBERED }))
    const busy = codeOf(other.call(invocation({ wait: true })))
    // Long enough to count as idle.
    await delay(400)
    const answers = [await session.call(invocation())]
    expect(sandbox.usage()[placement].inLine).toBe(1)
    await delay(800)
    answers.push(await session.call(invocation()))
    expect(new Set(answers).size).toBe(1)
    await other.close()
    expect(await busy).toBe('CompartmentKilled')
  })

  it('ends when all of them die and none has answered', async () => {
    const sandbox = withoutSpares()
    const session = await sandbox.open(spread(2))
    for (const _ of [1, 2]) expect(await codeOf(session.call(invocation({ die: true })))).toBe('CompartmentCrashed')
    expect(await session.ended).toMatchObject({ kind: 'failed', error: { code: 'CompartmentCrashed' } })
    expect(await codeOf(session.call(invocation()))).toBe('CompartmentGone')
    await expect.poll(() => sandbox.usage()[placement].used).toBe(0)
  })

  it('is opened in all of them, or not at all', LONG, async () => {
    const sandbox = withoutSpares({ most: { hulls: 2, threads: 2 } })
    const late = codeOf(sandbox.open({ ...spread(3), limits: { ...spread(3).limits, startMs: 200 } }))
    expect(await late).toBe('NoPlaceFree')
    expect(sandbox.usage()[placement].used).toBe(0)
    expect(await codeOf(sandbox.open(spread(2, 'throw new Error("no")')))).toBe('CompartmentStartFailed')
    expect(sandbox.usage()[placement].used).toBe(0)
  })

  it('closes all of them when it is idle, and opens all of them again', LONG, async () => {
    const sandbox = withoutSpares({ idleMs: 40 })
    const request = spread(2)
    const session = await sandbox.open(request)
    await session.lifecycle('init')
    await expect.poll(() => sandbox.usage()[placement].used).toBe(0)
    expect(typeof await session.call(invocation())).toBe('number')
    expect(sandbox.usage()[placement].used).toBe(2)
    expect(request.logged).toHaveLength(4)
  })
})

it.each([0, -1, 1.5, Number.NaN])('a concurrency of %d is refused', async (concurrency) => {
  const request = { ...requestOf({ placement: 'thread', source: running('') }), concurrency }
  expect(await codeOf(withoutSpares().open(request))).toBe('CompartmentStartFailed')
})

it('an inline extension cannot have several compartments', async () => {
  const request = requestOf({ placement: 'inline', source: '' })
  const module = { tools: { run: { execute: () => null } } }
  const opening = withoutSpares().open({ ...request, code: { kind: 'module', module }, concurrency: 2 })
  expect(await codeOf(opening)).toBe('CompartmentStartFailed')
})
