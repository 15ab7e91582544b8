import { BulkheadError, checkApprovalKey, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { ValidatedCall } from './call.ts'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import { onAbort } from '../model/cancellation.ts'

/** Deriving a key is a look at the arguments; what takes longer is doing something else. */
const DERIVATION_MS = 1_000

/** What an approval of a call would stand for. `byTool`: code that does not ship with the host derived it. */
export interface FoundKey {
  readonly key: string
  readonly byTool: boolean
}

/**
 * What an approval of this call would stand for. A template is filled in here; code derives its key in the compartment,
 * which starts it; else the name is the key. Throws ApprovalKeyInvalid or ApprovalKeyDerivationFailed.
 */
export function approvalKeyOf(call: ValidatedCall, clock: Clock): FoundKey | Promise<FoundKey> {
  const { tool, args } = call
  if (tool.approvalKey) return { key: tool.approvalKey(args), byTool: false }
  const { compartment } = tool.extension
  return compartment ? keyFrom(compartment, call, clock) : keyOnceStarted(call, clock)
}

const keyOnceStarted = (call: ValidatedCall, clock: Clock, gone?: CompartmentSession): Promise<FoundKey> =>
  untilStarted(call, clock, gone).then((started) => keyFrom(started, call, clock))

function keyFrom(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): FoundKey | Promise<FoundKey> {
  const { tool: { name, extension } } = call
  if (!compartment.offers.approvalKeys.has(name)) return { key: name, byTool: false }
  const byTool = extension.descriptor.code.kind !== 'module'
  const ask = () => derive(compartment, call, clock)
  return ask().catch((thrown: unknown) => {
    // Another call may have ended it, and a derivation has no effects: once more.
    if (!endsOthers(thrown)) throw thrown
    return ask()
  }).then((key) => ({ key, byTool })).catch((thrown: unknown) => {
    if (!isCompartmentGone(thrown)) throw thrown
    return keyOnceStarted(call, clock, compartment)
  })
}

const endsOthers = (thrown: unknown): boolean =>
  BulkheadError.is(thrown) && (thrown.code === 'CompartmentCrashed' || thrown.code === 'CompartmentKilled')

async function derive(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): Promise<string> {
  const limit = new AbortController()
  const stopTimer = clock.after(DERIVATION_MS, () => limit.abort(failed(call, `took longer than ${DERIVATION_MS} ms`)))
  const forget = onAbort(call.signal, () => limit.abort(call.signal.reason))
  try {
    const deriving = compartment.deriveApprovalKey(call.tool.name, call.args, limit.signal)
    return checkApprovalKey(await untilAborted(deriving, limit.signal))
  } catch (thrown) {
    // The code's own throw arrives as a failed execution, which it is not: nothing was executed.
    throw BulkheadError.is(thrown) && thrown.code !== 'ToolExecutionFailed' ? thrown : failed(call, `threw: ${messageOf(thrown)}`)
  } finally {
    stopTimer()
    forget()
  }
}

const failed = ({ tool: { name } }: ValidatedCall, why: string) =>
  new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of "${name}" ${why}.`, { data: { tool: name } })
