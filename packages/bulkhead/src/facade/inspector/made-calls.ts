import type { Interactor } from '@bulkhead/contract'
import type { Inspected, MadeOutcome } from '@bulkhead/inspector'
import { isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import type { Inspectable } from '../inspectable.ts'
import { withSession } from './sessions.ts'

/**
 * A call that a person made by a form, under the policy of its session. `interactor`: who is asked in a session of its
 * own. Throws NotFound.
 */
export async function makeCall(
  inside: Inspectable, interactor: Interactor, { tool, arguments: args, session: id, call }: Parameters<Inspected['makeCall']>[0],
): Promise<MadeOutcome> {
  return withSession(inside, id, async (session) => {
    const { metadata: _metadata, ...outcome } = await session.call({ id: call, name: tool, arguments: args })
    const result = inside.core.inside.redact(outcome as unknown as Json)
    if (outcome.type !== 'error') return { session: session.id, result }
    const { error: { code, data }, error_text: message } = outcome
    return { session: session.id, result, fault: { code, message, ...placeOf(data) } }
  }, { interactor })
}

/** The argument that is wrong, missing or unknown. */
function placeOf(data: Json | undefined): { readonly path?: string } {
  const { path, member } = isJsonObject(data) ? data : {}
  if (typeof path !== 'string') return {}
  return { path: typeof member === 'string' ? path + pointerStep(member) : path }
}
