import { LIFECYCLE_STATES, type LifecycleState } from '@bulkhead/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../../scripts/thoroughly.ts'
import { flush, ManualClock } from '../../twin/clock.ts'
import { createWorld, verdictOf } from '../../twin/world.ts'

/** The expected behaviour of the host, simplified: no time between steps, no concurrency. */
class Model {
  state: LifecycleState = 'validated'
  starts = 0
  now = 0
  #deaths: number[] = []

  call(startFails: boolean): string {
    if (this.state === 'disposed') return 'HostClosed'
    if (this.state === 'active') return 'output'
    if (this.#resting()) return 'CompartmentQuarantined'
    this.starts += 1
    if (!startFails) {
      this.state = 'active'
      return 'output'
    }
    this.#die()
    return 'LifecycleFailure'
  }

  crash(): void {
    if (this.state === 'active') this.#die()
  }

  close(): void {
    this.state = 'disposed'
  }

  #die(): void {
    this.state = 'failed'
    this.#deaths.push(this.now)
  }

  #resting(): boolean {
    const recent = this.#deaths.filter((at) => this.now - at < 120_000)
    const rest = [0, 0, 0, 0, 1_000, 5_000, 15_000, 60_000][Math.min(recent.length, 7)]!
    return recent.length > 0 && this.now < recent.at(-1)! + rest
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('call'), startFails: fc.boolean(), ms: fc.constant(0) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('crash'), startFails: fc.constant(false), ms: fc.constant(0) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('wait'), startFails: fc.constant(false), ms: fc.constantFrom(500, 1_000, 5_000, 60_000, 200_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('close'), startFails: fc.constant(false), ms: fc.constant(0) }) },
)

test('an extension follows the model through any sequence of calls, crashes, waits and closing', async () => {
  const script = fc.array(step, { minLength: 1, maxLength: 30 })
  await fc.assert(fc.asyncProperty(script, fc.constantFrom('init', 'activate'), async (steps, phase) => {
    const model = new Model()
    const clock = new ManualClock()
    let startFails = false
    const world = createWorld({
      clock, extensions: [
        {
          phases: { [phase]: () => { if (startFails) throw new Error('no') } },
          tools: { echo: { requires: { net: { hosts: ['example.com'] } } } },
        },
      ],
    })
    const session = await world.host.openSession({ mode: 'yolo' })
    const states = () => world.eventsOf('LifecycleStateChanged')
    for (const { do: what, startFails: fails, ms } of steps) {
      if (what === 'call') {
        startFails = fails
        expect(verdictOf(await session.call({ id: 'c', name: 'echo', arguments: {} }))).toBe(model.call(fails))
      } else if (what === 'crash') {
        model.crash()
        world.sandbox.alive.at(-1)?.crash()
        await flush()
      } else if (what === 'wait') {
        model.now += ms
        await clock.advance(ms)
      } else {
        model.close()
        await world.host.close()
      }
      expect(states().at(-1)?.to ?? 'validated').toBe(model.state)
      expect(world.sandbox.requests).toHaveLength(model.starts)
      expect(world.sandbox.alive).toHaveLength(model.state === 'active' ? 1 : 0)
    }
    expect(states().every(({ to }) => LIFECYCLE_STATES.includes(to))).toBe(true)
    expect(clock.pending).toBe(0)
  }), { numRuns: thoroughly(15, 200) })
})
