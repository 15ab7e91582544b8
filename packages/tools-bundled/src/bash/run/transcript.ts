import type { FromJsonSchema, PipeResult } from '@bulkhead/contract'
import { headAndTail } from '@bulkhead/kit/text'
import { hiddenNote, lacksFile, type Needs, STOPPED_NOTES, type StoppedBy, stoppedBy } from './stopped.ts'

export const OUTPUT_SCHEMA = {
  type: 'object',
  properties: {
    stdout: { type: 'string' },
    stderr: { type: 'string' },
    exit_code: { type: ['integer', 'null'] },
    signal: { type: 'string' },
    timed_out: { const: true },
    truncated: { const: true },
    stopped_by: { enum: ['look', 'work', 'network'] },
    note: { type: 'string' },
  },
  required: ['stdout', 'stderr', 'exit_code'],
} as const

/** The result of the tool. */
export type CommandResult = FromJsonSchema<typeof OUTPUT_SCHEMA>

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
  readonly #hiddenBy = new Set<string>()
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

  add({ stdout, stderr, exits, truncated, timedOut, wall, hiddenBy = [] }: PipeResult, negated: boolean): void {
    this.#stdout = this.#fit(this.#stdout + stdout)
    this.#stderr = this.#fit(this.#stderr + stderr)
    this.#truncated ||= truncated
    this.#timedOut = timedOut
    const { exitCode, signal } = exits.at(-1)!
    const exit = exits.find((one) => one.exitCode !== 0) ?? { exitCode, signal }
    this.#stopped ??= stoppedBy({ exit, stderr, hiddenBy, ...(wall && { wall }) }, this.#needs)
    if (lacksFile(exit, stderr)) for (const rule of hiddenBy) this.#hiddenBy.add(rule)
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

  result(): CommandResult {
    const { exitCode, signal } = this.#exit
    const notes = [
      ...(this.#hiddenBy.size === 0 ? [] : [hiddenNote([...this.#hiddenBy])]),
      ...(this.#stopped === undefined ? [] : [STOPPED_NOTES[this.#stopped]]),
    ]
    return {
      stdout: this.#stdout, stderr: this.#stderr, exit_code: exitCode,
      ...(signal === null ? {} : { signal }),
      ...(this.#timedOut ? { timed_out: true } : {}),
      ...(this.#truncated ? { truncated: true } : {}),
      ...(this.#stopped === undefined ? {} : { stopped_by: this.#stopped }),
      ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
    }
  }

  #fit(text: string): string {
    const both = headAndTail(text, MOST_BYTES)
    if (both !== text) this.#truncated = true
    return both
  }
}
