import { hash } from 'node:crypto'
import type { MachineStage, StateMachine } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type JsonObject } from '@bulkhead/kit/json'
import { isPromiseLike } from '@bulkhead/kit/deadlines'

/** The call that a permit is for. */
export interface PermittedCall {
  readonly id: string
  readonly tool: { readonly name: string }
  readonly args: JsonObject
}

/**
 * Lets one call run in one stage: of this execution and attempt, for this tool and these arguments. It is used up when
 * the call begins to run, and invalid once the stage is over.
 */
export class StagePermit {
  readonly #stageExecutionId: string
  readonly #attempt: number
  readonly #proposalId: string
  readonly #tool: string
  readonly stage: string
  readonly #machine: StateMachine
  #argsDigest: string | undefined
  #used = false

  constructor(machine: StateMachine, { stageExecutionId, attempt, name }: MachineStage, call: PermittedCall) {
    this.#machine = machine
    this.#stageExecutionId = stageExecutionId
    this.#attempt = attempt
    this.stage = name
    this.#proposalId = call.id
    this.#tool = call.tool.name
  }

  /** For a permit that a person grants: it is valid only for the arguments that the person saw. */
  bindTo({ args }: PermittedCall): string {
    this.#argsDigest = digestOf(args)
    return this.#argsDigest
  }

  /** Uses it up. Returns why it is not valid, or undefined. */
  redeem({ id, tool, args }: PermittedCall): string | undefined {
    if (this.#used) return 'its permit was used already'
    this.#used = true
    if (id !== this.#proposalId || tool.name !== this.#tool) return 'its permit is for another call'
    if (this.#argsDigest !== undefined && this.#argsDigest !== digestOf(args)) {
      return 'its permit is for other arguments'
    }
    try {
      const now = presentStage(this.#machine)
      const isSame = now?.stageExecutionId === this.#stageExecutionId && now.attempt === this.#attempt
      return isSame ? undefined : `the stage "${this.stage}", which permitted it, is over`
    } catch (thrown) {
      return `the state machine failed to report its stage: ${messageOf(thrown)}`
    }
  }
}

export const digestOf = (args: JsonObject): string => hash('sha256', canonicalJson(args))

/** The current stage of a machine. Throws what the machine throws, and if its answer is not a stage. */
export function presentStage(machine: StateMachine): MachineStage | undefined {
  const stage: unknown = machine.stage()
  if (stage === undefined) return undefined
  // It is not awaited, so its rejection must not end the process.
  if (isPromiseLike(stage)) Promise.resolve(stage).catch(() => {})
  if (!isStage(stage)) throw new Error('its stage does not have the documented form')
  return stage
}

function isStage(stage: unknown): stage is MachineStage {
  if (typeof stage !== 'object' || stage === null) return false
  const { stageExecutionId, name, attempt, allowedTools } = stage as Partial<MachineStage>
  return typeof stageExecutionId === 'string' && typeof name === 'string' && Number.isSafeInteger(attempt)
    && Array.isArray(allowedTools)
}
