import { rulePlace, type Rule, type ScopedRule, type ToolListing } from '@bulkhead/contract'
import type { AuditChainReader, CallRow } from '@bulkhead/contract/audit'
import { configuredRules, lintRules, type Explanation, type RuleFinding } from '@bulkhead/host'
import type {
  ApprovalItem, AskedOften, OtherCalls, PolicyFinding, PolicyHeadline, PolicyView, RuleItem, TriedCall, TryCall, WiderRule,
} from '@bulkhead/inspector/protocol'
import { visibleText } from '@bulkhead/kit/text'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'
import { ruleVariables } from '../loader-options.ts'
import { coversKey, OtherCallsFinder } from '../policy/other-calls.ts'
import { widerRule, widerWords } from '../policy/wider-rule.ts'
import { lastOf, type RecentCalls } from './recent-use.ts'
import { withSession } from './sessions.ts'

const MOST_QUESTIONS = 20

/** The rules in effect, and what they cost people. */
export class PolicyViews {
  readonly #host: Host
  readonly #inside: Inspectable
  readonly #recent: RecentCalls
  readonly #chains: () => Promise<readonly AuditChainReader[]>
  readonly #asked = new WeakMap<readonly CallRow[], Promise<readonly AskedOften[]>>()

  constructor(host: Host, inside: Inspectable, recent: RecentCalls, chains: () => Promise<readonly AuditChainReader[]>) {
    this.#chains = chains
    this.#host = host
    this.#inside = inside
    this.#recent = recent
  }

  async view(): Promise<PolicyView> {
    const { config } = this.#inside.core.inside.loaded()
    const rules = configuredRules(config)
    const { rows, words } = await this.#recent.read()
    const { places, home } = this.#inside
    const tools = this.#host.tools()
    const findings = lintRules(config, tools, ruleVariables(places.workspace, home))
      .toSorted((a, b) => Number(a.severity === 'note') - Number(b.severity === 'note'))
    return {
      mode: config.merged.mode ?? 'ask', headline: headlineOf(rows, words), findings: findings.map(findingItem),
      rules: rules.map((rule, index) => ruleItem(rule, index, findings, rows)),
      questions: await this.#questions(rows, new Set(tools.filter(isOfFiles).map(({ name }) => name))),
      approvals: await this.#approvals(),
    }
  }

  /** Once for each reading of the audit: calls are decided again in a session, which is recorded. */
  #questions(rows: readonly CallRow[], ofFiles: ReadonlySet<string>): Promise<readonly AskedOften[]> {
    return this.#asked.getOrInsertComputed(rows, async () => {
      const often = askedOften(rows, ofFiles)
      if (often.length === 0) return []
      const chains = await this.#chains()
      return withSession(this.#inside, undefined, async (session) => {
        const finder = new OtherCallsFinder(chains, (name, args, added) =>
          session.explain({ id: 'other', name, arguments: args }, added))
        const questions: AskedOften[] = []
        for (const { own, wider, ...one } of often) {
          const others = rows.filter((row) => !own.includes(row))
          const of = (rule: Rule): Promise<OtherCalls> => finder.of(rule, others, ofFiles.has(one.tool))
          const { rule } = one
          questions.push({
            ...one, ...(rule && { others: await of(rule) }), ...(wider && { wider: { ...wider, others: await of(wider.rule) } }),
          })
        }
        return questions
      })
    })
  }

  /** As `explain`: asks no person and runs nothing. */
  async tryCall({ tool, arguments: args, session: id }: TryCall): Promise<TriedCall> {
    const call = { id: 'tried', name: tool, arguments: args }
    return withSession(this.#inside, id, async (session) => triedCall(await session.explain(call)))
  }

  async #approvals(): Promise<readonly ApprovalItem[]> {
    const found = await this.#host.approvals.list()
    return found.map(({ id, scope, tool, approvalKey, covers = approvalKey, uses, status, ...given }) => ({
      id, scope, tool: shown(tool), covers: shown(covers), uses, status, grantedAt: Date.parse(given.grantedAt),
      grantedBy: shown(given.grantedBy), ...(given.expiresAt !== null && { expiresAt: Date.parse(given.expiresAt) }),
    }))
  }
}

const NEVER: ReadonlySet<RuleFinding['kind']> = new Set(['cannot win', 'contradicts'])

function ruleItem(
  rule: ScopedRule, index: number, findings: readonly RuleFinding[], rows: readonly CallRow[],
): RuleItem {
  const { permission, pattern, action, author, source, line } = rule
  // The source of a decision ends with the place of its rule.
  const hits = rows.filter(({ decision }) => decision?.source.endsWith(` (${rulePlace(rule)})`))
  const never = findings.find((finding) => finding.rule.source === source && NEVER.has(finding.kind))
  return {
    id: String(index), permission: shown(permission), pattern: shown(pattern), action, author, file: fileOf(source),
    ...(line !== undefined && { line }), hits: hits.length, ...lastOf(hits),
    ...(never && { cannotWin: shown(never.message) }),
  }
}

const findingItem = ({ kind, message, cure, rule: { source, line } }: RuleFinding): PolicyFinding =>
  ({ kind, words: shown(`${message} ${cure}`), file: fileOf(source), ...(line !== undefined && { line }) })

const fileOf = (source: string): string => shown(source.split('#', 1)[0]!)

function headlineOf(rows: readonly CallRow[], span: string): PolicyHeadline {
  const asked = rows.filter(({ askedMs }) => askedMs !== undefined)
  const waitedMs = asked.reduce((sum, { askedMs = 0 }) => sum + askedMs, 0)
  return {
    calls: rows.length, questions: asked.length,
    questionsPer100: rows.length === 0 ? 0 : Math.round(asked.length / rows.length * 1_000) / 10,
    waitedMinutes: Math.round(waitedMs / 6_000) / 10, span,
  }
}

const isOfFiles = ({ may }: ToolListing): boolean =>
  may.some(({ kind }) => kind === 'fs.read' || kind === 'fs.write') && !may.some(({ kind }) => kind === 'shell')

/**
 * The rule names exactly what was asked about. What the key leaves out, it allows whatever it is. `ofFiles`: tools whose
 * keys are paths.
 */
function askedOften(rows: readonly CallRow[], ofFiles: ReadonlySet<string>): readonly Often[] {
  const asked = rows.filter(({ askedMs }) => askedMs !== undefined)
  const groups = Map.groupBy(asked, ({ tool, subject }) => JSON.stringify([tool, subject]))
  return [...groups.values()].map((own) => {
    const { tool, subject } = own[0]!
    const isRule = subject !== '' && !/[*?\\]/.test(subject)
    const rule = { permission: shown(tool), pattern: shown(subject), action: 'allow' as const }
    const wider = isRule ? widerRule(rule, ofFiles.has(tool)) : undefined
    return {
      own, tool: shown(tool), subject: shown(subject), times: own.length,
      waitedMs: own.reduce((sum, { askedMs = 0 }) => sum + askedMs, 0),
      rejected: own.filter(({ state }) => state === 'denied').length, ...(isRule && { rule }),
      alsoAllows: isRule ? [shown(`calls of ${tool} for the same subject with other arguments`)] : [],
      ...(wider && {
        wider: { rule: wider, times: timesOf(wider, asked, ofFiles.has(tool)), alsoAllows: [widerWords(wider)] },
      }),
    }
  }).toSorted((a, b) => b.waitedMs - a.waitedMs || b.times - a.times).slice(0, MOST_QUESTIONS)
}

/** A question before it is known which other calls its rules would allow. */
interface Often extends Omit<AskedOften, 'others' | 'wider'> {
  readonly own: readonly CallRow[]
  readonly wider?: Omit<WiderRule, 'others'>
}

/** How many of the questions a rule would have avoided. */
const timesOf = (rule: Rule, asked: readonly CallRow[], isPath: boolean): number =>
  asked.filter((row) => coversKey(rule, row, isPath)).length

function triedCall({ decision, code, chain, remedies, wall }: Explanation): TriedCall {
  return {
    decision, ...(code !== undefined && { code }),
    chain: chain.map(({ stage, action, source, reason }) =>
      ({ stage, action, source: shown(source), reason: shown(reason) })),
    remedies: remedies.map(shown), ...(wall && { wall: wall.wall }),
  }
}

const shown = (text: string): string => visibleText(text)
