import { BulkheadError, type DelegatingCall, type Interactor } from '@bulkhead/contract'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import type { HookChain } from '../calls/hooks.ts'
import { lowerLimits, ownBudget, SessionBudget, type ShareBudget, type Workflows } from '../model/budget.ts'
import { CallIds } from '../model/call-ids.ts'
import type { Settings } from '../model/settings.ts'
import type { ProjectApprovals } from '../policy/approvals/project-approvals.ts'
import { approvalTerms } from '../policy/approvals/approval-terms.ts'
import { SessionApprovals } from '../policy/approvals/session-approvals.ts'
import type { HostContext } from '../policy/call.ts'
import type { WaitingCall, SessionScope } from '../policy/call-session.ts'
import { Interactions } from '../policy/interaction/interactions.ts'
import type { AgentsRequire } from '../policy/agent-bound.ts'
import { waitsForOthers } from '../policy/interaction/shared-questions.ts'
import { restoreMemory } from '../policy/session-memory.ts'
import type { Agents, UsableAgent } from './agents.ts'
import type { KeepRequest, KeptSession, Resumed } from './kept-session.ts'
import { openedWith } from './resumption.ts'
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
  readonly kept: KeptSession | undefined
  readonly resumed: Resumed | undefined
  /** Aborted when the session ends. */
  readonly over: () => AbortSignal
}

/**
 * What the calls of a session have in common. Throws ConfigInvalid, RequirementInvalid or AgentInvalid.
 */
export function openScope(request: ScopeRequest, sources: ScopeSources): SessionScope {
  const { id, options, agent, outer, hooks, over, kept, resumed } = request
  const { host, settings, workspace, projectApprovals, agentsRequire } = sources
  const { events, clock, registry } = host
  const { approver, interactionTimeoutMs } = options
  const principal = outer ? outer.principal : options.principal && deepFreeze(structuredClone(options.principal))
  const paused = options.pause ?? outer?.paused !== undefined ? host.paused : undefined
  const asksParent = options.interactor === undefined && approver === undefined
  // A sub-agent can do no more than its parent, so it gets no folders of its own.
  const { variables, paths } = outer ?? sessionPlaces(options, agent, sources)
  const scope: SessionScope = {
    id, principal, variables, paths, hooks, memory: new Map(), kept,
    callIds: new CallIds(kept && ((callId) => kept.took(callId)), resumed?.ids),
    agent: agent?.manifest,
    policy: policyFrom(options, {
      settings, agent, agentsRequire, variables, hasOwnValues: variables !== sources.variables,
      isTool: (name) => registry.view.listing(name) !== undefined,
    }, outer?.policy),
    approvals: new SessionApprovals({
      sessionId: id, principal: principal?.id, workspace, project: projectApprovals, events, clock, kept,
      terms: () => approvalTerms(registry.settings.layers),
    }),
    interactions: outer && asksParent ? outer.interactions : new Interactions({
      sessionId: resumed ? `${id}.${resumed.record.resumed}` : id, asked: { sessionId: id, ...(principal && { principal }) },
      interactors: askedIn(options, host), approver, timeoutMs: interactionTimeoutMs, events, clock,
      desk: host.desk, passkeys: () => ({ ring: host.passkeys, now: clock.now() }),
      queue: outer?.interactions.queue, over,
    }),
    recording: recordingOf(request, principal?.id, sources),
    paused, asking: host.outcomes && (kept ?? paused) && host.paused,
    client: options.client ?? outer?.client,
    continues: options.continues,
    waiting: sources.waiting,
    delegatedBy: sources.delegatedBy ?? [],
  }
  if (resumed) {
    restoreMemory(scope, resumed.record.memory)
    scope.approvals.restore(resumed.record.approvals)
  }
  return scope
}

/** Throws ConfigInvalid if answers could come from nowhere. */
function askedIn({ interactor = [], headless }: SessionOptions, { desk }: HostContext): readonly Interactor[] {
  const asked = [interactor].flat()
  if (headless !== 'wait') return asked
  if (desk.lookElsewhere) return [...asked, waitsForOthers]
  throw new BulkheadError('ConfigInvalid', '`headless: "wait"` needs a store that other processes can open. Pass `store` to '
    + '`createHost`, or use `inspector.interactor`.', { data: { path: '/headless' } })
}

/** Of a session that is resumed, the calls are added to those before. */
function recordingOf(
  { id, options, outer }: ScopeRequest, principal: string | undefined, { host, settings: { file, machine }, workspace }: ScopeSources,
): SessionScope['recording'] {
  const isRecorded = machine.record ?? options.record ?? (outer ? outer.recording !== undefined : file.record ?? false)
  if (!isRecorded) return undefined
  const { openedAt, options: opened, code } = openedWith(options, host.clock.now())
  return host.recordings.begin({
    id, workspace, openedAt, options: opened, code,
    ...(principal !== undefined && { principal }), ...(outer && { parentId: outer.id }),
  })
}

/** What a session is opened from. `Opened`: the class of sessions. */
export interface OpeningSources<Opened> extends ScopeSources {
  readonly agents: () => Agents
  readonly workflows: Workflows
  readonly hooks: HookChain
  /** All open sessions by their ids, sub-agents included. */
  readonly open: Map<string, Opened>
  /** Every role that a session had so far. */
  readonly roles: Set<string>
  /** Runs before the session is announced. */
  readonly onOpen: (session: Opened) => void
  readonly onClose: (session: Opened) => void
  /** Stores a session that the host opened. Absent if nothing outlives the host. */
  readonly keep?: ((request: KeepRequest) => KeptSession) | undefined
  readonly shareBudget?: ShareBudget | undefined
}

/** The budgets of a session: its own, and that of the configuration. Those of a sub-agent end with this host. */
export function openBudget(
  id: string, options: SessionOptions, agent: UsableAgent | undefined, sources: Pick<OpeningSources<unknown>, 'workflows' | 'settings' | 'shareBudget'>,
  parent: SessionBudget | undefined,
): SessionBudget {
  const { workflows, settings, shareBudget } = sources
  const share = parent ? undefined : shareBudget
  return new SessionBudget(
    ownBudget(id, lowerLimits(options.budget, agent?.manifest.budget), share),
    workflows.hold(id, options.principal?.id, settings.file.budget, share), parent,
  )
}
