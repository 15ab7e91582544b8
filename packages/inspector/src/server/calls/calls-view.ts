import type { Json } from '@bulkhead/kit/json'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { CallDetail, CallExport, CallItem, CallsView } from '../../protocol.ts'
import { RequestFault } from '../fault.ts'
import type { Inspected } from '../inspected.ts'
import type { Capture } from './capture.ts'
import { isFound, type CallQuery } from './call-query.ts'
import { callIdOf, shown, type LiveCall } from './live-call.ts'
import type { LiveCalls } from './live-calls.ts'
import { auditRecords, pastCall, pastCalls } from './past-calls.ts'

type CallSources = Pick<Inspected, 'capturedElsewhere' | 'chains' | 'hosts' | 'scope'>

/** The calls of this process, and those of the audit. */
export class CallsViews {
  readonly #inspected: CallSources
  readonly #live: LiveCalls
  readonly #capture: Capture

  constructor(inspected: CallSources, live: LiveCalls, capture: Capture) {
    this.#inspected = inspected
    this.#live = live
    this.#capture = capture
  }

  async list(query: CallQuery): Promise<CallsView> {
    const { chains, why } = await this.#chains()
    const live = [...this.#live.all()].map(({ item }) => item).filter((item) => isFound(item, query))
    const known = new Set(live.map(({ id }) => id))
    const past = (await pastCalls(chains, query)).filter((item) => !known.has(item.id) && isFound(item, query))
    const items = [...live, ...past].toSorted((a, b) => b.at - a.at)
    const sessions = await this.#sessions()
    return {
      items: items.slice(0, query.limit), ...(items.length > query.limit && { next: String(items[query.limit - 1]!.at) }),
      sessions, tools: [...new Set(items.map(({ tool }) => tool))].toSorted(), reach: why, capture: this.#capture.state,
    }
  }

  /** Throws NotFound. */
  async detail(session: string, call: string): Promise<CallDetail> {
    const id = callIdOf(session, call)
    const live = this.#live.get(id)
    const { chains } = await this.#chains()
    const past = await pastCall(chains, session, call).catch(() => undefined)
    const captured = this.#capture.get(id) ?? await this.#inspected.capturedElsewhere(session, call).catch(() => undefined)
    if (live === undefined && past === undefined) {
      throw new RequestFault('NotFound', `There is no call ${shown(call)} in the session ${shown(session)}.`)
    }
    return {
      ...(live === undefined ? past! : this.#ofLive(live)), ...(live && past && { story: past.story }),
      ...(past?.audit && { audit: past.audit }), ...(captured && { captured }),
    }
  }

  async export(session: string, call: string): Promise<CallExport> {
    const { item, spans, decided, captured } = await this.detail(session, call)
    const { chains } = await this.#chains()
    return {
      format: 'bulkhead-call/1', exportedAt: new Date().toISOString(), item, spans, decided, ...(captured && { captured }),
      audit: (await auditRecords(chains, session, call)).map((one) => ({ ...one, record: one.record as Json })),
    }
  }

  #ofLive(live: LiveCall): CallDetail {
    const { item, spans, decided } = live
    const children = this.#live.children(item.id).map((child) => child.item)
    return { item, spans, decided: [...decided], story: storyOf(item), children }
  }

  async #chains(): Promise<{ readonly chains: readonly AuditChainReader[]; readonly why: string }> {
    try {
      const chains = await this.#inspected.chains()
      const why = chains.length === 0
        ? 'The calls of this process since the inspector started.' : 'The calls of this process, and the audit of the store.'
      return { chains, why }
    } catch (error) {
      return { chains: [], why: `The calls of this process. The audit cannot be read: ${shown(String(error))}` }
    }
  }

  /** Open sessions of other processes are those that their hosts show. */
  async #sessions(): Promise<CallsView['sessions']> {
    const called = new Set([...this.#live.all()].map(({ item }) => item.session))
    const own = this.#live.sessions().filter(({ id, open }) => open || called.has(id))
    if (this.#inspected.scope === 'host') return own
    const known = new Set(own.map(({ id }) => id))
    const hosts = await this.#inspected.hosts().catch(() => [])
    const others = hosts.flatMap(({ id: host, sessions, state }) => sessions.map(({ id, row }) => ({
      id: shown(id), host: shown(host), workspace: textIn(row, 'workspace') ?? '', open: state !== 'gone',
      since: Number(row['since']) || 0, ...optional('principal', textIn(row, 'principal')),
      ...optional('agent', textIn(row, 'agent')), ...optional('parent', textIn(row, 'parentId')),
    })))
    return [...own, ...others.filter(({ id }) => !known.has(id))]
  }
}

function storyOf({ tool, subject, by, state, code, message, ms, waitedMs = 0 }: CallItem): readonly string[] {
  return [
    `${tool} ${subject}`, ...(by === undefined ? [] : [`Decided by ${by}`]),
    ...(waitedMs > 0 ? [`People were waited for ${(waitedMs / 1_000).toFixed(1)} s.`] : []),
    code === undefined ? `${state}${ms === undefined ? '' : ` after ${Math.round(ms)} ms`}` : `${code}: ${message ?? ''}`,
  ]
}

const textIn = (row: { readonly [name: string]: Json }, name: string): string | undefined =>
  typeof row[name] === 'string' ? shown(row[name]) : undefined
const optional = <Name extends string>(name: Name, value: string | undefined): { readonly [Key in Name]?: string } =>
  (value === undefined ? {} : { [name]: value }) as { [Key in Name]?: string }
