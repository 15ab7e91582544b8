import type { ExtensionDescriptor } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { SessionScope } from './call-session.ts'
import type { PausableCall } from './interaction/paused-calls.ts'
import { identityOf } from './interaction/question-log.ts'
import { planModeIn } from './plan-mode.ts'

type Owner = Pick<ExtensionDescriptor, 'id' | 'layer'>
type Memorized = Pick<SessionScope, 'memory' | 'policy'> & Partial<Pick<SessionScope, 'kept'>>

const keyOf = ({ id, layer }: Owner): string => `${layer}/${id}`

/** Bundled extensions that keep what the model wrote. */
const OF_MODEL: ReadonlySet<string> = new Set(['plan', 'todo'])

/** Whether only the session's own calls reach what an extension keeps: others would rewrite what the model relies on. */
export const keepsForModel = ({ id, layer }: Owner): boolean => layer === 'bundled' && OF_MODEL.has(id)

/** What an extension keeps for a session. */
export const memoryOf = ({ memory }: Pick<Memorized, 'memory'>, owner: Owner): Json | undefined =>
  memory.get(keyOf(owner))

export function remember(session: Memorized, owner: Owner, data: Json): void {
  session.memory.set(keyOf(owner), structuredClone(data))
  session.policy.planning = planModeIn(owner.layer, owner.id, data) ?? session.policy.planning
  session.kept?.changed()
}

/**
 * A paused call that continues in another session finds there what its extension kept for the first one, unless it
 * keeps something there already.
 */
export function recall(call: Pick<PausableCall, 'scope' | 'tool'> & { readonly session: Memorized }, owner: Owner): void {
  const { resumption } = call.scope
  if (resumption?.memory === undefined || resumption.identity !== identityOf(call)) return
  if (memoryOf(call.session, owner) === undefined) remember(call.session, owner, resumption.memory)
}

/** The same for a session that is resumed in this host. */
export function restoreMemory(session: Memorized, stored: JsonObject): void {
  for (const [key, data] of Object.entries(stored)) {
    const [layer = '', id = ''] = [key.slice(0, key.indexOf('/')), key.slice(key.indexOf('/') + 1)]
    session.memory.set(key, data)
    session.policy.planning = planModeIn(layer, id, data) ?? session.policy.planning
  }
}
