import type { CompartmentServices, CompartmentSession, Sandbox } from '@bulkhead/contract'
import { createSandbox } from '../../src/index.ts'
import type { Attack, Outcome, Step } from '../case.ts'
import { attackOf } from '../cases/index.ts'
import type { Facts } from '../ground/facts.ts'
import type { Job } from '../protocol.ts'
import { requestFor } from './compartment.ts'
import { openWithLayers, systemWithoutBubblewrap } from './open-with-layers.ts'
import type { Hear } from './steps.ts'
import { invocationOf, outcomeOf, perform } from './steps.ts'

export interface PerformanceParts {
  readonly job: Job
  readonly secret: string
  readonly facts: Facts
  readonly hear: Hear
}

const sandboxes = new Map<string, Sandbox>()

/** One compartment and the attacks that are played in it. */
export class Performance {
  readonly attacks: readonly Attack[]
  readonly #parts: PerformanceParts
  #session: CompartmentSession | undefined

  constructor(parts: PerformanceParts) {
    this.attacks = parts.job.attacks.map(attackOf)
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#session !== undefined
  }

  /** Contract: never rejects. */
  async take(step: Step, attack: Attack): Promise<Outcome> {
    const { hear, facts } = this.#parts
    if (step === 'open') return this.#open()
    if (step === 'reopen') {
      await this.#session?.close()
      return this.#open()
    }
    return perform(step, { attack, facts, session: this.#session!, hear })
  }

  async close(): Promise<void> {
    await this.#session?.close()
  }

  #open(): Promise<Outcome> {
    const { job: { placement, layers }, secret, facts, hear } = this.#parts
    const [first] = this.attacks
    const workspace = `${facts.work.slice(0, -'work'.length)}${first!.workspace}`
    const request = requestFor(this.attacks, {
      workspace, secret, facts, placement, log: ({ text }) => hear(text),
      ...(first!.meanwhile === 'calls the tool that asks' && { interact: this.#interact }),
    })
    return outcomeOf(hear, async () => {
      this.#session = undefined
      const isComplete = layers.lockdown && layers.native
      if (isComplete && placement === 'process' && first!.heldBy === 'system without bubblewrap') {
        const brokenOut = { ...layers, lockdown: false, native: false }
        this.#session = await openWithLayers(request, workspace, brokenOut, 'compartment', await systemWithoutBubblewrap())
        return null
      }
      this.#session = isComplete && first!.in === 'compartment'
        ? await sandboxFor(first!, workspace).open(request)
        : await openWithLayers(request, workspace, layers, first!.in)
      return null
    })
  }

  /** A person whose answer is what the very tool that asks says to another call. */
  readonly #interact: NonNullable<CompartmentServices['interact']> = async () => {
    const { facts } = this.#parts
    return { status: 'accepted', value: await this.#session!.call(invocationOf(this.attacks[0]!, facts)) }
  }
}

/** Spares are used where they fit; of places that no other attack has none would. */
function sandboxFor({ limits: { heapMb, memoryMb } }: Attack, workspace: string): Sandbox {
  const spares = heapMb === undefined && memoryMb === undefined ? 1 : 0
  const key = `${workspace} ${spares}`
  const known = sandboxes.get(key) ?? createSandbox({
    workspace, spares: { process: spares, thread: spares }, projectLayer: `${workspace}/.bulkhead`, ownCode: [`${workspace}/node_modules`],
  })
  sandboxes.set(key, known)
  return known
}
