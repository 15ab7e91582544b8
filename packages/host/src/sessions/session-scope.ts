import type { DelegatingCall } from '@bulkhead/contract'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import type { HookChain } from '../calls/hooks.ts'
import { CallIds } from '../model/call-ids.ts'
import type { Settings } from '../model/settings.ts'
import type { ProjectApprovals } from '../policy/approvals/project-approvals.ts'
import { approvalTerms } from '../policy/approvals/approval-terms.ts'
import { SessionApprovals } from '../policy/approvals/session-approvals.ts'
import type { HostContext } from '../policy/call.ts'
import type { WaitingCall, SessionScope } from '../policy/call-session.ts'
import { Interactions } from '../policy/interaction/interactions.ts'
import type { AgentsRequire } from '../policy/agent-bound.ts'
import type { UsableAgent } from './agents.ts'
import { sessionPlaces, type RootSources } from './roots.ts'
import { policyFrom, type SessionOptions } from './session.ts'

export interface ScopeSources extends RootSources {
  readonly host: HostContext
  readonly settings: Settings
  readonly projectApprovals: ProjectApprovals
  readonly agentsRequire: AgentsRequire
  /** Of a sub-agent: the call that waits for it. */
  readonly waiting?: WaitingCall | undefined
  /** Of a sub-agent: the calls that delegate, the outermost first. */
  readonly delegatedBy?: readonly DelegatingCall[] | undefined
}

/** The call that opens a session for a sub-agent. */
export interface SubagentOrigin {
  /** Waits for the sub-agent. Default: the call that waits for the parent session. */
  readonly waiting?: WaitingCall | undefined
  readonly call?: DelegatingCall
}

/** What a sub-agent of the session `outer` has from it and from that call. */
export const originIn = (
  outer: SessionScope, { waiting = outer.waiting, call }: SubagentOrigin,
): Pick<SessionScope, 'waiting' | 'delegatedBy'> =>
  ({ waiting, delegatedBy: call ? [...outer.delegatedBy, call] : outer.delegatedBy })

export interface ScopeRequest {
  readonly id: string
  readonly options: SessionOptions
  readonly agent: UsableAgent | undefined
  /** The scope of the session that this one is a sub-agent of. */
  readonly outer: SessionScope | undefined
  readonly hooks: HookChain
  /** Aborted when the session ends. */
  readonly over: () => AbortSignal
}

/**
 * What the calls of a session have in common. Throws ConfigInvalid, RequirementInvalid or AgentInvalid.
 */
export function openScope(request: ScopeRequest, sources: ScopeSources): SessionScope {
  const { id, options, agent, outer, hooks, over } = request
  const { host, settings, workspace, projectApprovals, agentsRequire } = sources
  const { events, clock, registry } = host
  const { interactor, approver, interactionTimeoutMs } = options
  const principal = outer ? outer.principal : options.principal && deepFreeze(structuredClone(options.principal))
  const asksParent = interactor === undefined && approver === undefined
  // A sub-agent can do no more than its parent, so it gets no folders of its own.
  const { variables, paths } = outer ?? sessionPlaces(options, agent, sources)
  return {
    id, principal, variables, paths, hooks, memory: new Map(), callIds: new CallIds(),
    agent: agent?.manifest,
    policy: policyFrom(options, {
      settings, agent, agentsRequire, variables, hasOwnValues: variables !== sources.variables,
      isTool: (name) => registry.view.listing(name) !== undefined,
    }, outer?.policy),
    approvals: new SessionApprovals({
      sessionId: id, principal: principal?.id, workspace, project: projectApprovals, events, clock,
      terms: () => approvalTerms(registry.settings.layers),
    }),
    interactions: outer && asksParent ? outer.interactions : new Interactions({
      sessionId: id, asked: { sessionId: id, ...(principal && { principal }) },
      interactors: [interactor ?? []].flat(), approver, timeoutMs: interactionTimeoutMs, events, clock,
      queue: outer?.interactions.queue, over,
    }),
    paused: options.pause ?? outer?.paused !== undefined ? host.paused : undefined,
    client: options.client ?? outer?.client,
    continues: options.continues,
    waiting: sources.waiting,
    delegatedBy: sources.delegatedBy ?? [],
  }
}
