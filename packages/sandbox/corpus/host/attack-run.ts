import type { CompartmentServices, CompartmentSession, Sandbox } from '@bulkhead/contract'
import { createSandbox } from '../../src/index.ts'
import type { Attack, Outcome, Step } from '../model/case.ts'
import { attackOf } from '../cases/index.ts'
import type { Facts } from '../target/facts.ts'
import type { Job } from '../model/protocol.ts'
import { requestFor } from './compartment.ts'
import { openWithLayers, systemWithoutBubblewrap } from './open-with-layers.ts'
import type { InspectText } from './steps.ts'
import { invocationOf, outcomeOf, runStep } from './steps.ts'

export interface AttackRunParts {
  readonly job: Job
  readonly secret: string
  readonly facts: Facts
  readonly inspect: InspectText
}

const sandboxes = new Map<string, Sandbox>()

/** One compartment and the attacks that run in it. */
export class AttackRun {
  readonly attacks: readonly Attack[]
  readonly #parts: AttackRunParts
  #session: CompartmentSession | undefined

  constructor(parts: AttackRunParts) {
    this.attacks = parts.job.attacks.map(attackOf)
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#session !== undefined
  }

  /** Contract: never rejects. */
  async take(step: Step, attack: Attack): Promise<Outcome> {
    const { inspect, facts } = this.#parts
    if (step === 'open') return this.#open()
    if (step === 'reopen') {
      await this.#session?.close()
      return this.#open()
    }
    return runStep(step, { attack, facts, session: this.#session!, inspect })
  }

  async close(): Promise<void> {
    await this.#session?.close()
  }

  #open(): Promise<Outcome> {
    const { job: { placement, layers }, secret, facts, inspect } = this.#parts
    const [first] = this.attacks
    const workspace = `${facts.work.slice(0, -'work'.length)}${first!.workspace}`
    const request = requestFor(this.attacks, {
      workspace, secret, facts, placement, log: ({ text }) => inspect(text),
      ...(first!.meanwhile === 'calls the tool that asks' && { interact: this.#interact }),
    })
    return outcomeOf(inspect, async () => {
      this.#session = undefined
      const isComplete = layers.lockdown && layers.native
      if (isComplete && placement === 'process' && first!.heldBy === 'system without bubblewrap') {
        const brokenOut = { ...layers, lockdown: false, native: false }
        this.#session = await openWithLayers(
          request, workspace, brokenOut, 'compartment', await systemWithoutBubblewrap(),
        )
        return null
      }
      this.#session = isComplete && first!.in === 'compartment'
        ? await sandboxFor(first!, workspace).open(request)
        : await openWithLayers(request, workspace, layers, first!.in)
      return null
    })
  }

  /** A person who answers with the result of another call of the tool that asks. */
  readonly #interact: NonNullable<CompartmentServices['interact']> = async () => {
    const { facts } = this.#parts
    return { status: 'accepted', value: await this.#session!.call(invocationOf(this.attacks[0]!, facts)) }
  }
}

/** No spares for compartments with unusual limits or workspaces, because no other attack could use them. */
function sandboxFor({ limits: { heapMb, memoryMb }, workspace: name }: Attack, workspace: string): Sandbox {
  const spares = heapMb === undefined && memoryMb === undefined && name === 'work' ? 1 : 0
  const key = `${workspace} ${spares}`
  const known = sandboxes.get(key) ?? createSandbox({
    workspace, spares: { process: spares, thread: spares }, projectLayer: `${workspace}/.bulkhead`,
    ownCode: [`${workspace}/node_modules`],
  })
  sandboxes.set(key, known)
  return known
}
