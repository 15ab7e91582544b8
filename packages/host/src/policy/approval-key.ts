import { BulkheadError, checkApprovalKey, type Clock, type CompartmentSession } from '@bulkhead/contract'
import { untilAborted } from '@bulkhead/kit/deadlines'
import { messageOf } from '@bulkhead/kit/error-message'
import type { ValidatedCall } from './call.ts'
import { isCompartmentGone, untilStarted } from '../extensions/lifecycle/start.ts'
import { onAbort } from '../model/cancellation.ts'

/** Deriving a key only reads the arguments, so it is quick. */
const DERIVATION_MS = 1_000

/** The key that an approval of a call covers. `byTool`: third-party code derived it. */
export interface FoundKey {
  readonly key: string
  readonly byTool: boolean
}

/**
 * A template is filled in here. Code derives the key in its compartment, which starts it. Otherwise the name is the key.
 * Rejects with ApprovalKeyInvalid or ApprovalKeyDerivationFailed.
 */
export async function approvalKeyOf(call: ValidatedCall, clock: Clock): Promise<FoundKey> {
  const { tool: { name, approvalKey: template, extension }, args } = call
  if (template) return { key: template(args), byTool: false }
  let compartment = extension.compartment ?? await untilStarted(call, clock)
  for (;;) {
    if (!compartment.offers.approvalKeys.has(name)) return { key: name, byTool: false }
    try {
      return { key: await deriveAgain(compartment, call, clock), byTool: extension.descriptor.code.kind !== 'module' }
    } catch (thrown) {
      if (!isCompartmentGone(thrown)) throw thrown
      compartment = await untilStarted(call, clock, compartment)
    }
  }
}

/** Another call may have crashed the compartment. A derivation has no effects, so it is tried once more. */
async function deriveAgain(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): Promise<string> {
  try {
    return await derive(compartment, call, clock)
  } catch (thrown) {
    if (!BulkheadError.is(thrown) || (thrown.code !== 'CompartmentCrashed' && thrown.code !== 'CompartmentKilled')) throw thrown
    return derive(compartment, call, clock)
  }
}

async function derive(compartment: CompartmentSession, call: ValidatedCall, clock: Clock): Promise<string> {
  const limit = new AbortController()
  const stopTimer = clock.after(DERIVATION_MS, () => limit.abort(failed(call, `took longer than ${DERIVATION_MS} ms`)))
  const forget = onAbort(call.signal, () => limit.abort(call.signal.reason))
  try {
    const deriving = compartment.deriveApprovalKey(call.tool.name, call.args, limit.signal)
    return checkApprovalKey(await untilAborted(deriving, limit.signal))
  } catch (thrown) {
    // A throw of the code arrives as a failed execution, but nothing was executed.
    throw BulkheadError.is(thrown) && thrown.code !== 'ToolExecutionFailed' ? thrown : failed(call, `threw: ${messageOf(thrown)}`)
  } finally {
    stopTimer()
    forget()
  }
}

const failed = ({ tool: { name } }: ValidatedCall, why: string) =>
  new BulkheadError('ApprovalKeyDerivationFailed', `deriveApprovalKey of "${name}" ${why}.`, { data: { tool: name } })
