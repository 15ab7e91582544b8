import type { MachineStage, StateMachine } from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import { canonicalJson, type JsonObject } from '@bulkhead/kit/json'
import { sha256 } from '../model/sha256.ts'
import { presentStage } from './present-stage.ts'

/** The call that a permit is for. */
export interface PermittedCall {
  readonly id: string
  readonly tool: { readonly name: string }
  readonly args: JsonObject
}

/**
 * What lets one call run in one stage: of this execution and attempt, for this tool and these arguments. It is used up when the
 * call begins to run, and worth nothing once the stage is over.
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

  /** For a permit that a person gives: what they saw is what it is worth something for. */
  bindTo({ args }: PermittedCall): string {
    this.#argsDigest = digestOf(args)
    return this.#argsDigest
  }

  /** Uses it up. Returns why it is worth nothing, or undefined. */
  redeem({ id, tool, args }: PermittedCall): string | undefined {
    if (this.#used) return 'its permit was used already'
    this.#used = true
    if (id !== this.#proposalId || tool.name !== this.#tool) return 'its permit is for another call'
    if (this.#argsDigest !== undefined && this.#argsDigest !== digestOf(args)) return 'its permit is for other arguments'
    try {
      const now = presentStage(this.#machine)
      const isSame = now?.stageExecutionId === this.#stageExecutionId && now.attempt === this.#attempt
      return isSame ? undefined : `the stage "${this.stage}", which permitted it, is over`
    } catch (thrown) {
      return `the state machine failed while its stage was asked for: ${messageOf(thrown)}`
    }
  }
}

export const digestOf = (args: JsonObject): string => sha256(canonicalJson(args))
