import { readFileSync } from 'node:fs'
import { obstacleOf, type ScopedRule } from '@bulkhead/contract'
import type { CallRow } from '@bulkhead/contract/audit'
import { configuredRules, type Explanation } from '@bulkhead/host'
import type { ApprovalItem, AskedOften, PolicyHeadline, PolicyView, RuleItem, TriedCall, TryCall } from '@bulkhead/inspector/protocol'
import { placeInJson } from '@bulkhead/kit/json-edit'
import { visibleText } from '@bulkhead/kit/text'
import { BulkheadError } from '@bulkhead/contract'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'
import type { RecentCalls } from './recent-use.ts'

const MOST_QUESTIONS = 20

/** The rules in effect, and what they cost people. */
export class PolicyViews {
  readonly #host: Host
  readonly #inside: Inspectable
  readonly #recent: RecentCalls

  constructor(host: Host, inside: Inspectable, recent: RecentCalls) {
    this.#host = host
    this.#inside = inside
    this.#recent = recent
  }

  async view(): Promise<PolicyView> {
    const { config } = this.#inside.core.inside.loaded()
    const rules = configuredRules(config)
    const { rows, words } = await this.#recent.read()
    const items = rules.map((rule, index) => ruleItem(rule, index, rules, rows))
    return {
      mode: config.merged.mode ?? 'ask', headline: headlineOf(rows, words), rules: items,
      findings: items.flatMap(({ cannotWin, file, line }) => cannotWin === undefined ? []
        : [{ kind: 'cannot win', words: cannotWin, ...(file !== undefined && { file }), ...(line !== undefined && { line }) }]),
      questions: askedOften(rows), approvals: await this.#approvals(),
    }
  }

  /** As `explain`: asks no person and runs nothing. */
  async tryCall({ tool, arguments: args, session: id }: TryCall): Promise<TriedCall> {
    const call = { id: 'tried', name: tool, arguments: args }
    if (id !== undefined) {
      const session = this.#inside.core.inside.sessions().find((one) => one.id === id)
      if (session === undefined) throw new BulkheadError('NotFound', `No session ${visibleText(id)} is open in this process.`)
      return triedCall(await session.explain(call))
    }
    const session = await this.#inside.core.openSession()
    try {
      return triedCall(await session.explain(call))
    } finally {
      await session.close()
    }
  }

  async #approvals(): Promise<readonly ApprovalItem[]> {
    const found = await this.#host.approvals.list()
    return found.map(({ id, scope, tool, approvalKey, covers = approvalKey, grantedAt, grantedBy, expiresAt, uses, status }) => ({
      id, scope, tool: shown(tool), covers: shown(covers), grantedAt: Date.parse(grantedAt), grantedBy: shown(grantedBy),
      ...(expiresAt !== null && { expiresAt: Date.parse(expiresAt) }), uses, status,
    }))
  }
}

function ruleItem(rule: ScopedRule, index: number, rules: readonly ScopedRule[], rows: readonly CallRow[]): RuleItem {
  const { permission, pattern, action, author, source } = rule
  const [file = '', pointer = ''] = source.split('#', 2)
  const line = lineOf(file, pointer)
  // The source of a decision ends with the place of its rule.
  const hits = rows.filter(({ decision }) => decision?.source.endsWith(` of ${source}`))
  const lastAt = hits.reduce((latest, { at }) => Math.max(latest, Date.parse(at)), 0)
  const obstacle = obstacleOf(rule, rules)
  return {
    id: String(index), permission: shown(permission), pattern: shown(pattern), action, author, file: shown(file),
    ...(line !== undefined && { line }), hits: hits.length, ...(lastAt > 0 && { lastAt }),
    ...(obstacle && { cannotWin: shown(`${obstacle.action} ${obstacle.permission} ${obstacle.pattern} of ${obstacle.source} decides everything that it matches.`) }),
  }
}

/** undefined for options of the embedder, and for a file that has changed or is gone. */
function lineOf(file: string, pointer: string): number | undefined {
  try {
    const text = readFileSync(file, 'utf8')
    return text.slice(0, placeInJson(text, pointer)).split('\n').length
  } catch {
    return undefined
  }
}

function headlineOf(rows: readonly CallRow[], span: string): PolicyHeadline {
  const asked = rows.filter(({ askedMs }) => askedMs !== undefined)
  const waitedMs = asked.reduce((sum, { askedMs = 0 }) => sum + askedMs, 0)
  return {
    calls: rows.length, questions: asked.length, questionsPer100: rows.length === 0 ? 0 : Math.round(asked.length / rows.length * 1_000) / 10,
    waitedMinutes: Math.round(waitedMs / 6_000) / 10, span,
  }
}

/** The rule names exactly what was asked about, so that it allows nothing else. */
function askedOften(rows: readonly CallRow[]): readonly AskedOften[] {
  const asked = rows.filter(({ askedMs }) => askedMs !== undefined)
  const groups = Map.groupBy(asked, ({ tool, subject }) => JSON.stringify([tool, subject]))
  return [...groups.values()].map((own) => {
    const { tool, subject } = own[0]!
    const isPattern = /[*?\\]/.test(subject)
    return {
      tool: shown(tool), subject: shown(subject), times: own.length,
      waitedMs: own.reduce((sum, { askedMs = 0 }) => sum + askedMs, 0), rejected: own.filter(({ state }) => state === 'denied').length,
      ...(!isPattern && subject !== '' && { rule: { permission: shown(tool), pattern: shown(subject), action: 'allow' as const } }),
      alsoAllows: [],
    }
  }).toSorted((a, b) => b.waitedMs - a.waitedMs || b.times - a.times).slice(0, MOST_QUESTIONS)
}

function triedCall({ decision, code, chain, remedies, wall }: Explanation): TriedCall {
  return {
    decision, ...(code !== undefined && { code }),
    chain: chain.map(({ stage, action, source, reason }) => ({ stage, action, source: shown(source), reason: shown(reason) })),
    remedies: remedies.map(shown), ...(wall && { wall: wall.wall }),
  }
}

const shown = (text: string): string => visibleText(text)
