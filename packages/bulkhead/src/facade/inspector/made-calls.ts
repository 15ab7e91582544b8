import { BulkheadError, type Interactor } from '@bulkhead/contract'
import type { Session } from '@bulkhead/host'
import type { Inspected, MadeOutcome } from '@bulkhead/inspector'
import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Inspectable } from '../inspectable.ts'

/**
 * A call that a person made by a form, under the policy of its session. `interactor`: who is asked in a session of its
 * own. Throws NotFound.
 */
export async function makeCall(
  { core }: Inspectable, interactor: Interactor, { tool, arguments: args, session: id, call }: Parameters<Inspected['makeCall']>[0],
): Promise<MadeOutcome> {
  const session: Session | undefined = id === undefined ? await core.openSession({ interactor })
    : core.inside.sessions().find((one) => one.id === id)
  if (session === undefined) {
    throw new BulkheadError('NotFound', `No session ${visibleText(id!)} is open in this process. Choose another one.`)
  }
  try {
    const { metadata: _metadata, ...outcome } = await session.call({ id: call, name: tool, arguments: args })
    const result = core.inside.redact(outcome as unknown as Json)
    if (outcome.type !== 'error') return { session: session.id, result }
    const { error: { code, data }, error_text: message } = outcome
    return { session: session.id, result, fault: { code, message, ...placeOf(data) } }
  } finally {
    if (id === undefined) await session.close()
  }
}

/** The argument that is wrong, missing or unknown. */
function placeOf(data: Json | undefined): { readonly path?: string } {
  const { path, member } = isJsonObject(data) ? data : {}
  if (typeof path !== 'string') return {}
  return { path: typeof member === 'string' ? path + pointerStep(member) : path }
}
