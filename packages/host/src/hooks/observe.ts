import type { BulkheadError, ErrorCode } from '@bulkhead/contract'
import type { RawCall } from '../call.ts'
import type { HostContext } from '../host-context.ts'
import { freezeDeep } from '../freeze-deep.ts'
import { isPromiseLike } from '../promise-like.ts'
import type { HookContext, Observers } from './hooks.ts'

const DEFAULT_ROLE = 'agent'

/** Tells whoever observes, in order. Contract: never throws. Whoever calls it has seen that there are hooks. */
export function observe(
  hookPoint: keyof Observers, call: RawCall, host: HostContext,
  { result = null, error = null }: Partial<Pick<HookContext, 'result' | 'error'>> = {},
): void {
  const { session, attempt, args = null } = call
  let context: HookContext | undefined
  // Made for the first who wants it: most hooks are hung onto one point.
  const known = (): HookContext => {
    context ??= Object.freeze({
      hookPoint, toolName: call.name, callId: call.id, parameters: args, role: session.policy.role ?? DEFAULT_ROLE,
      result: freezeDeep(result), error: error && Object.freeze(error),
      durationMs: Math.round(host.clock.monotonic() - call.startedAt), attempt, workspace: host.workspace, sessionId: session.id,
    })
    return context
  }
  for (const hooks of session.hooks.all) tell(hookPoint, host, () => hooks[hookPoint]?.(known()))
}

/** Contract: never throws, and what is told late reports its faults too. */
export function tell(name: string, { events }: Pick<HostContext, 'events'>, told: () => unknown): void {
  const report = (thrown: unknown) => events.suppressed(`hook ${name}`, thrown)
  try {
    const answer = told()
    if (isPromiseLike(answer)) Promise.resolve(answer).catch(report)
  } catch (thrown) {
    report(thrown)
  }
}

const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CapabilityDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled', 'ApprovalDenied',
])

/** Which observers a refusal before the tool ran is for. */
export function refusalPoint({ code }: BulkheadError): keyof Observers | undefined {
  if (code === 'ToolsDisabled') return 'onToolsDisabled'
  if (code === 'BudgetExhausted') return 'onTokenBudgetExceeded'
  return DENIALS.has(code) ? 'onPermissionDenied' : undefined
}
