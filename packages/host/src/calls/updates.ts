import type { Json } from '@bulkhead/kit/json'
import type { CallView } from '../model/call.ts'
import { eventFields, type ClearedCall } from '../policy/call.ts'
import { viewOf } from '../policy/call-view.ts'
import { freezeDeep } from './freeze-deep.ts'
import type { HostContext } from '../policy/host-context.ts'
import { isPromiseLike } from '../model/promise-like.ts'
import type { Hooks } from '../model/hooks.ts'
import { tell } from './hooks.ts'

/** An update of a running tool, on its way to whoever listens: hooks stand before and after it. Contract: never throws. */
export function passUpdate(call: ClearedCall, host: HostContext, update: Json): void {
  const { all } = call.session.hooks
  const partial = freezeDeep(update)
  if (all.length === 0) return host.events.emit({ type: 'ToolInvocationUpdated', ...eventFields(call), partial })
  const view = viewOf(call, call.decision.approvalKey)
  if (!all.every((hooks) => letsPass(hooks, view, host, partial))) return
  host.events.emit({ type: 'ToolInvocationUpdated', ...eventFields(call), partial })
  for (const hooks of all) tell('afterToolExecutionUpdate', host, () => hooks.afterToolExecutionUpdate?.(view, partial))
}

function letsPass(hooks: Hooks, view: CallView, host: HostContext, partial: Json): boolean {
  let passes = false
  tell('beforeToolExecutionUpdate', host, () => {
    const answer: unknown = hooks.beforeToolExecutionUpdate?.(view, partial)
    const isLate = isPromiseLike(answer)
    passes = answer !== false && !isLate
    return isLate ? Promise.resolve(answer).then(tooLate) : undefined
  })
  return passes
}

function tooLate(): never {
  throw new Error('It answered too late: updates are not held up, and this one was dropped.')
}
