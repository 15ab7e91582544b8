import { posix, sep } from 'node:path'
import { styleText } from 'node:util'
import type { Outcome } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { CompartmentFailure } from '@bulkhead/sandbox'

/** An error of a tool, and the function calls that led to it. */
export interface ShownTrace {
  readonly message: string
  readonly frames: readonly { readonly name: string; readonly file: string; readonly line: number; readonly column: number }[]
}

/**
 * Where in the code of a tool its last call failed, for the person at the command line: a result for a model does not
 * contain it. Files of an own folder are named as the person named the folder. An installed package shows its file names,
 * and only for errors that its publisher has to correct.
 */
export class FailureTraces {
  readonly #folder: string
  #last: CompartmentFailure | undefined

  /** `folder`: as the person named it. */
  constructor(folder = '.') {
    this.#folder = folder
  }

  /** Called for each error of a compartment. */
  readonly listener = (failure: CompartmentFailure): void => {
    this.#last = failure
  }

  /** Forgets it. Undefined if the call did not fail in the code of a tool. */
  take(outcome: Outcome): readonly ShownTrace[] | undefined {
    const failure = this.#last
    this.#last = undefined
    if (failure === undefined || outcome.type === 'output' || outcome.error.code !== failure.error.code) return undefined
    const { isOwn, error, extension } = failure
    if (!isOwn && error.fault !== 'extension') return undefined
    const base = isOwn ? this.#folder.replaceAll(sep, '/') : extension.id
    return failure.trace.map(({ message, frames }) => ({
      message, frames: frames.map(({ name, file, line, column }) => ({ name, file: posix.join(base, file), line, column })),
    }))
  }

  /** For output that programs read: only what the person owns. */
  takeOwn(outcome: Outcome): readonly ShownTrace[] | undefined {
    return this.#last?.isOwn === true ? this.take(outcome) : undefined
  }
}

/** As text for standard error. */
export function traceText(traces: readonly ShownTrace[]): string {
  const lines = traces.flatMap(({ message, frames }, at) => [
    ...(at === 0 ? [] : [`  caused by ${message}`]),
    ...frames.map(({ name, file, line, column }) => {
      const place = `${file}:${line}:${column}`
      return name === '' ? `    at ${place}` : `    at ${name} (${place})`
    }),
  ])
  return lines.map((line) => `${styleText('dim', visibleText(line), { stream: process.stderr })}\n`).join('')
}
