import type { PipeResult } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'

/** For both streams and all steps together. The host decides how much of it the model sees. */
const MAX_CHARS = 2 * 1024 * 1024

const KILLED = 128

/** The output of all steps, and the exit code of the last one. */
export class Transcript {
  #stdout = ''
  #stderr = ''
  #exit: { readonly exitCode: number | null; readonly signal: string | null } = { exitCode: 0, signal: null }
  #truncated = false
  #timedOut = false

  get succeeded(): boolean {
    return this.#exit.exitCode === 0
  }

  get timedOut(): boolean {
    return this.#timedOut
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  /** Like a shell, reports 128 for a step that was killed by a signal. */
  get exitCode(): number {
    return this.#exit.exitCode ?? KILLED
  }

  /** Adds a message to stderr. */
  note(message: string): void {
    this.#stderr += this.#fit(message)
  }

  add({ stdout, stderr, exits, truncated, timedOut }: PipeResult, negated: boolean): void {
    this.#stdout += this.#fit(stdout)
    this.#stderr += this.#fit(stderr)
    this.#truncated ||= truncated
    this.#timedOut = timedOut
    const { exitCode, signal } = exits.at(-1)!
    this.#exit = negated ? { exitCode: exitCode === 0 ? 1 : 0, signal: null } : { exitCode, signal }
  }

  succeed(): void {
    this.#exit = { exitCode: 0, signal: null }
  }

  fail(exitCode: number, message: string): void {
    this.#stderr += this.#fit(`${message}\n`)
    this.#exit = { exitCode, signal: null }
  }

  result(): JsonObject {
    const { exitCode, signal } = this.#exit
    return {
      stdout: this.#stdout, stderr: this.#stderr, exit_code: exitCode,
      ...(signal === null ? {} : { signal }),
      ...(this.#timedOut ? { timed_out: true } : {}),
      ...(this.#truncated ? { truncated: true } : {}),
    }
  }

  #fit(text: string): string {
    const left = MAX_CHARS - this.#stdout.length - this.#stderr.length
    if (text.length <= left) return text
    this.#truncated = true
    return text.slice(0, Math.max(0, left))
  }
}
