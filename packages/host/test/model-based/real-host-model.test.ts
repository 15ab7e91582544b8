import { tmpdir } from 'node:os'
import { BulkheadError, type CompartmentSession, type Placement } from '@bulkhead/contract'
import { createSandbox, type PooledSandbox } from '@bulkhead/sandbox'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { LONG, thoroughly } from '../../../../scripts/thoroughly.ts'
import { flush } from '../twin/clock.ts'
import { Model } from './model.ts'
import { play, step } from './script.ts'
import { Subject, type Compartments } from './subject.ts'

/** Real threads and processes, each observed from the request to its end. */
class RealCompartments implements Compartments {
  readonly isInstant = false
  readonly sandbox: PooledSandbox
  readonly #open = new Map<CompartmentSession, string>()

  constructor(placement: Placement) {
    const real = createSandbox({ workspace: tmpdir() })
    this.sandbox = {
      ...real,
      open: async (request) => {
        const session = await real.open({ ...request, placement })
        this.#open.set(session, request.extension.id)
        void session.ended.then(() => this.#open.delete(session))
        return session
      },
    }
  }

  get alive(): number {
    return this.#open.size
  }

  async crash(id: string): Promise<void> {
    const doomed = [...this.#open].filter(([, of]) => of === id).map(([session]) => session)
    await Promise.all(doomed.map((session) => session.close(new BulkheadError('CompartmentCrashed', 'It was killed.'))))
    await flush()
  }

  async eventually(check: () => void): Promise<void> {
    await vi.waitFor(check, { timeout: 60_000, interval: 5 })
  }

  sketch(id: string, version: number, startFails: boolean) {
    const code = `export default {
      activate() { if (${startFails}) throw new Error('no') },
      tools: { '${id}': { async execute({ hang }, runtime) {
        if (hang) { runtime.progress('hangs'); await runtime.state.read() }
        return 'v${version}'
      } } },
    }`
    return {
      readFiles: async () => new Map([['index.js', new TextEncoder().encode(code)]]),
      tools: { [id]: { requires: { net: { hosts: ['example.com'] } } } },
    }
  }
}

describe.each(['thread', 'process'] as const)('in the placement %s', (placement) => {
  test('a host follows the model, and leaves no thread or process', LONG, async () => {
    const script = fc.array(step, { minLength: 10, maxLength: 25 })
    await fc.assert(fc.asyncProperty(script, async (steps) => {
      const model = new Model()
      const compartments = new RealCompartments(placement)
      await play(steps, model, new Subject(model, compartments))
      await compartments.sandbox.close()
      expect(compartments.sandbox.usage()[placement]).toMatchObject({ used: 0, spare: 0 })
    }), { numRuns: placement === 'thread' ? thoroughly(2, 12) : thoroughly(1, 5), endOnFailure: true })
  })
})
