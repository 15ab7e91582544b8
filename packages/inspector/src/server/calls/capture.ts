import type { Json } from '@bulkhead/kit/json'
import { visibleJson } from '@bulkhead/kit/text'
import type { CapturedCall, CaptureState } from '../../protocol.ts'
import type { CapturedOutcome, Inspected } from '../inspected.ts'
import { callIdOf } from './live-call.ts'

const MOST_CALLS = 50
const MOST_CHARS = 64 * 1024

/** Arguments and results of the last calls, while it is on. They are in memory only. */
export class Capture {
  readonly #inspected: Pick<Inspected, 'capture'>
  readonly #kept = new Map<string, CapturedCall>()
  #stop: (() => void) | undefined

  constructor(inspected: Pick<Inspected, 'capture'>) {
    this.#inspected = inspected
  }

  get state(): CaptureState {
    return { on: this.#stop !== undefined, limit: MOST_CALLS, kept: this.#kept.size }
  }

  /** Off clears what was captured. */
  switch(on: boolean): CaptureState {
    if (on) this.#stop ??= this.#inspected.capture((call) => this.#keep(call))
    else {
      this.#stop?.()
      this.#stop = undefined
      this.#kept.clear()
    }
    return this.state
  }

  get(id: string): CapturedCall | undefined {
    return this.#kept.get(id)
  }

  #keep({ session, call, arguments: args, result }: CapturedOutcome): void {
    if (this.#stop === undefined) return
    this.#kept.set(callIdOf(session, call), capturedCall(args, result))
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= MOST_CALLS) break
      this.#kept.delete(id)
    }
  }
}

/** Contract: without secrets. */
export function capturedCall(args: Json, result: Json): CapturedCall {
  const [given, returned] = [shownJson(args), shownJson(result)]
  return { arguments: given.text, result: returned.text, cut: given.isCut || returned.isCut }
}

/** For people, and bounded. */
export function shownJson(value: Json): { readonly text: string; readonly isCut: boolean } {
  const json = visibleJson(JSON.stringify(value, null, 2))
  return json.length <= MOST_CHARS ? { text: json, isCut: false } : { text: `${json.slice(0, MOST_CHARS)}…`, isCut: true }
}
