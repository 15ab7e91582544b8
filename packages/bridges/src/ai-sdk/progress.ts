import type { CallProgress, Outcome } from '@bulkhead/contract'
import type { SessionCallOptions } from '../models/session-tools.ts'

/** A preliminary result: what the tool reports while it runs. The final result is an outcome. */
export type ToolProgress = { readonly type: 'progress' } & CallProgress

/** More than this many preliminary results that the SDK has not read are dropped, the oldest first. */
const MAX_WAITING = 64

/** Yields progress and then the outcome. A reader that stops early cancels the call. */
export async function* withProgress(
  abortSignal: AbortSignal | undefined, run: (options: SessionCallOptions) => Promise<Outcome>,
): AsyncGenerator<ToolProgress | Outcome, void, undefined> {
  const stop = new AbortController()
  const waiting: CallProgress[] = []
  let reported = Promise.withResolvers<void>()
  const onProgress = (progress: CallProgress): void => {
    if (waiting.push(progress) > MAX_WAITING) waiting.shift()
    reported.resolve()
  }
  const signal = abortSignal ? AbortSignal.any([abortSignal, stop.signal]) : stop.signal
  const ended = run({ signal, onProgress })
  try {
    for (;;) {
      const outcome = await Promise.race([reported.promise, ended])
      reported = Promise.withResolvers()
      for (const progress of waiting.splice(0)) yield { type: 'progress', ...progress }
      if (outcome) return yield outcome
    }
  } finally {
    stop.abort()
  }
}
