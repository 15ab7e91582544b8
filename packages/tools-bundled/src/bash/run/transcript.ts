import type { PipeResult } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { headAndTail } from '@bulkhead/kit/text'
import { type Needs, STOPPED_NOTES, type StoppedBy, stoppedBy } from './stopped.ts'

/** For each stream of all steps together. The host decides how much of it the model sees. */
const MOST_BYTES = 1024 * 1024

/** The exit code that shells use for a program that cannot be run. */
const NOT_RUN = 126

/** The output of all steps, and the exit code of the last one. */
export class Transcript {
  #stdout = ''
  #stderr = ''
  #exit: { readonly exitCode: number | null; readonly signal: string | null } = { exitCode: 0, signal: null }
  #truncated = false
  #timedOut = false
  #stopped: StoppedBy | undefined
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  get succeeded(): boolean {
    return this.#exit.exitCode === 0
  }

  get timedOut(): boolean {
    return this.#timedOut
  }

  add({ stdout, stderr, exits, truncated, timedOut, wall }: PipeResult, negated: boolean): void {
    this.#stdout = this.#fit(this.#stdout + stdout)
    this.#stderr = this.#fit(this.#stderr + stderr)
    this.#truncated ||= truncated
    this.#timedOut = timedOut
    const { exitCode, signal } = exits.at(-1)!
    const exit = exits.find((one) => one.exitCode !== 0) ?? { exitCode, signal }
    this.#stopped ??= stoppedBy({ exit, stderr, ...(wall && { wall }) }, this.#needs)
    this.#exit = negated ? { exitCode: exitCode === 0 ? 1 : 0, signal: null } : { exitCode, signal }
  }

  succeed(): void {
    this.#exit = { exitCode: 0, signal: null }
  }

  fail(exitCode: number, message: string): void {
    this.#stderr = this.#fit(`${this.#stderr}${message}\n`)
    this.#exit = { exitCode, signal: null }
  }

  /** The command was not run, because its wall cannot be built. */
  refuse(wall: StoppedBy, message: string): void {
    this.fail(NOT_RUN, message)
    this.#stopped = wall
  }

  result(): JsonObject {
    const { exitCode, signal } = this.#exit
    return {
      stdout: this.#stdout, stderr: this.#stderr, exit_code: exitCode,
      ...(signal === null ? {} : { signal }),
      ...(this.#timedOut ? { timed_out: true } : {}),
      ...(this.#truncated ? { truncated: true } : {}),
      ...(this.#stopped === undefined ? {} : { stopped_by: this.#stopped, note: STOPPED_NOTES[this.#stopped] }),
    }
  }

  #fit(text: string): string {
    const both = headAndTail(text, MOST_BYTES)
    if (both !== text) this.#truncated = true
    return both
  }
}
