import type { BulkheadError, ErrorCode } from '@bulkhead/contract'
import type { RawCall } from '../policy/call.ts'
import type { HostContext } from '../policy/host-context.ts'
import { freezeDeep } from './freeze-deep.ts'
import { isPromiseLike } from '../model/promise-like.ts'
import type { HookContext, Observers } from '../model/hooks.ts'

const DEFAULT_ROLE = 'agent'

interface Seen {
  readonly result?: HookContext['result']
  readonly error?: HookContext['error']
}
const NOTHING_SEEN: Seen = {}

/** Tells whoever observes, in order. Contract: never throws. Whoever calls it has seen that there are hooks. */
export function observe(hookPoint: keyof Observers, call: RawCall, host: HostContext, seen = NOTHING_SEEN): void {
  let context: HookContext | undefined
  for (const hooks of call.session.hooks.all) {
    try {
      // Most hooks are hung onto one point; nothing is made for the others.
      if (hooks[hookPoint] === undefined) continue
      context ??= contextOf(hookPoint, call, host, seen)
      hearLate(hookPoint, host, hooks[hookPoint](context))
    } catch (thrown) {
      report(hookPoint, host, thrown)
    }
  }
}

function contextOf(hookPoint: keyof Observers, call: RawCall, host: HostContext, { result = null, error = null }: Seen): HookContext {
  const { session, attempt, args = null } = call
  return Object.freeze({
    hookPoint, toolName: call.name, callId: call.id, parameters: args, role: session.policy.role ?? DEFAULT_ROLE,
    result: freezeDeep(result), error: error && Object.freeze(error),
    durationMs: Math.round(host.clock.monotonic() - call.startedAt), attempt, workspace: host.workspace, sessionId: session.id,
  })
}

type Telling = Pick<HostContext, 'events'>

/** Contract: never throws, and what is told late reports its faults too. */
export function tell(name: string, host: Telling, told: () => unknown): void {
  try {
    hearLate(name, host, told())
  } catch (thrown) {
    report(name, host, thrown)
  }
}

function hearLate(name: string, host: Telling, answer: unknown): void {
  if (isPromiseLike(answer)) Promise.resolve(answer).catch((thrown: unknown) => report(name, host, thrown))
}

const report = (name: string, { events }: Telling, thrown: unknown): void => events.suppressed(`hook ${name}`, thrown)

const DENIALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'CapabilityDenied', 'RoleDenied', 'RuleDenied', 'WatchdogDenied', 'GuardDenied', 'ArgumentsUnsettled', 'ApprovalDenied',
])

/** Which observers a refusal before the tool ran is for. */
export function refusalPoint({ code }: BulkheadError): keyof Observers | undefined {
  if (code === 'ToolsDisabled') return 'onToolsDisabled'
  if (code === 'BudgetExhausted') return 'onTokenBudgetExceeded'
  return DENIALS.has(code) ? 'onPermissionDenied' : undefined
}
