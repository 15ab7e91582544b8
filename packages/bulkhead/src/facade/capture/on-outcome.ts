import type { Host } from '@bulkhead/host'
import type { CapturedOutcome } from '@bulkhead/inspector'
import { asJson } from '@bulkhead/kit/json'

/** Arguments and result of each call that ends, without secrets. Ends with the returned function. */
export const onOutcome = (
  { addHooks, redact }: Pick<Host['inside'], 'addHooks' | 'redact'>, listener: (outcome: CapturedOutcome) => void,
): (() => void) => addHooks({
  afterToolExecution: ({ sessionId, callId, arguments: args }, { metadata: _metadata, ...result }) =>
    listener({ session: sessionId, call: callId, arguments: redact(args), result: redact(asJson(result)) }),
})
