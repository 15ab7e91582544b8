import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thoroughly } from '../../../../scripts/thoroughly.ts'
import { flush } from '../twin/clock.ts'
import { TwinSandbox } from '../twin/sandbox.ts'
import { sketchExtension, type ToolSketch } from '../twin/world.ts'
import { Model } from './model.ts'
import { play, step } from './script.ts'
import { Subject, type Compartments } from './subject.ts'

/** Everything happens in this thread, so after one turn of the event loop nothing is pending. */
class TwinCompartments implements Compartments {
  readonly isInstant = true
  readonly sandbox = new TwinSandbox(new Map())

  get alive(): number {
    return this.sandbox.alive.length
  }

  async crash(id: string): Promise<void> {
    for (const compartment of this.sandbox.alive) if (compartment.id === id) compartment.crash()
  }

  async eventually(check: () => void): Promise<void> {
    await flush()
    check()
  }

  sketch(id: string, version: number, startFails: boolean) {
    const execute: ToolSketch['execute'] = async ({ hang }, runtime) => {
      if (hang) {
        runtime.progress('hangs')
        await runtime.services.state!.read()
      }
      return `v${version}`
    }
    const sketched = {
      phases: { activate: () => { if (startFails) throw new Error('no') } },
      tools: { [id]: { requires: { net: { hosts: ['example.com'] } }, execute } },
    }
    this.sandbox.add(`global/${id}/${version}.0.0`, sketchExtension({ id, ...sketched }).module)
    return sketched
  }
}

test('a host follows the model through any loads, calls, reloads, crashes, switches and closing', async () => {
  const script = fc.array(step, { minLength: 1, maxLength: 40 })
  await fc.assert(fc.asyncProperty(script, async (steps) => {
    const model = new Model()
    await play(steps, model, new Subject(model, new TwinCompartments()))
  }), { numRuns: thoroughly(15, 400) })
  expect.hasAssertions()
})
