import {
  denyingRule, isOfCalls, judgeRules, judgeUse, NOTHING_ASIDE, possibleRules, rulesFor, setAside, type CallUse, type RuledTool,
  type RuleAuthor, type RuleQuestion, type RuleVerdict, type ScopedRule, type SetAside, type Touch, type VariableValues,
} from '@bulkhead/contract'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import { maySendElsewhere } from '../model/settings.ts'
import type { CallAnalysis } from './model/checked-call.ts'
import { meantRules, touchesOf, unknownPartsOf, withPaths } from './touches.ts'
import { allow, approve, ask, askForPasskey, deny, ruleName, type Verdict } from './model/verdict.ts'

/** The rules that apply in one session, prepared when it opens. */
export class SessionRules {
  readonly all: readonly ScopedRule[]
  readonly #workspace: string
  /** Most hosts have none: this is asked for each call. */
  readonly #placing: boolean
  readonly #byTool = new WeakMap<ToolEntry, readonly ScopedRule[]>()

  /** Throws RequirementInvalid for a pattern that cannot be compiled. */
  constructor(rules: readonly ScopedRule[], variables: VariableValues, isTool: (name: string) => boolean) {
    this.all = rules.flatMap((rule) => meantRules(rule, isTool)).map((rule) => withPaths(rule, variables))
    this.#placing = this.all.some(maySendElsewhere)
    this.#workspace = variables.workspace?.[0] ?? '/'
  }

  /**
   * What the rules decide about a call, or undefined. `unknown`: everything that the tool may touch. `withProject`:
   * whether rules of a project that allow count.
   */
  evaluate(
    tool: ToolEntry, unknown: readonly Touch[], analysis: CallAnalysis, withProject = true,
  ): Verdict | undefined {
    const all = this.of(tool)
    const rules = withProject ? all : all.filter(({ author, action }) => author !== 'project' || action !== 'allow')
    if (rules.length === 0) return undefined
    const verdict = judgeRules(rules, this.#question(tool, unknown, analysis))
    return verdict && verdictOf(verdict)
  }

  /** What they decide about one use while a call runs. */
  judgeUse(tool: ToolEntry, use: CallUse, aside: SetAside): RuleVerdict | undefined {
    return judgeUse(this.of(tool), { ...namesOf(tool), ...use }, aside)
  }

  /** Those that say nothing about what a call uses. */
  setAside(tool: ToolEntry, unknown: readonly Touch[], analysis: CallAnalysis): SetAside {
    const rules = this.of(tool)
    const isAny = rules.some((rule) => rule.action !== 'allow' && isOfCalls(rule))
    return isAny ? setAside(rules, this.#question(tool, unknown, analysis)) : NOTHING_ASIDE
  }

  /** Those that deny or ask, and that a call may meet only while it runs. */
  possible(tool: ToolEntry, unknown: readonly Touch[], analysis: CallAnalysis): readonly ScopedRule[] {
    const rules = this.of(tool)
    return rules.length === 0 ? [] : possibleRules(rules, this.#question(tool, unknown, analysis))
  }

  /** The first rule that says where a call runs: those of the machine, then of the embedder, then of the user. */
  placing(tool: ToolEntry, unknown: readonly Touch[], analysis: CallAnalysis): ScopedRule | undefined {
    if (!this.#placing) return undefined
    const question = this.#question(tool, unknown, analysis)
    return this.of(tool).filter(maySendElsewhere).toSorted((a, b) => PLACING.indexOf(a.author) - PLACING.indexOf(b.author))
      .find((rule) => judgeRules([rule], question) !== undefined)
  }

  /** The rule that denies every call of a tool. */
  denying(tool: ToolEntry): Verdict | undefined {
    const rule = denyingRule(this.of(tool), namesOf(tool))
    return rule && verdictOf({ action: 'deny', rule, rules: [rule] })
  }

  /** The rules that can match a call of the tool. */
  of(tool: ToolEntry): readonly ScopedRule[] {
    const known = this.#byTool.get(tool)
    if (known) return known
    const rules = rulesFor(this.all, namesOf(tool))
    this.#byTool.set(tool, rules)
    return rules
  }

  #question(tool: ToolEntry, unknown: readonly Touch[], analysis: CallAnalysis): RuleQuestion {
    const withEffects = this.of(tool).some(looksAtEffects)
    const touches = touchesOf(analysis, { workspace: this.#workspace, unknown, withEffects })
    return { ...namesOf(tool), touches, unknown: unknownPartsOf(tool, analysis) }
  }
}

const namesOf = ({ name, source }: ToolEntry): RuledTool => ({ tool: name, ...(source && { source }) })

const PLACING: readonly RuleAuthor[] = ['machine', 'embedder', 'user', 'bundled']

/** Whether a rule can tell one path or host from another. */
const looksAtEffects = ({ permission, pattern }: ScopedRule): boolean =>
  /^(?:fs|net)\./.test(permission) || (permission !== 'shell.run' && !/^\*{1,2}$/.test(pattern))

/** What an approval of the question answers: the author and the content of the rule, wherever it is written. */
const questionOf = ({ author, permission, written = permission, pattern }: ScopedRule): string =>
  `the ${author} rule "${written} ${pattern}"`

export const verdictOf = (verdict: RuleVerdict): Verdict =>
  ({ ...plainVerdict(verdict), rules: verdict.rules.map(ruleName) })

function plainVerdict({ action, passkey, rule, rules }: RuleVerdict): Verdict {
  const { written = rule.permission } = rule
  const name = ruleName(rule)
  const source = `${rule.ofSession ? 'session' : rule.author} rule ${written} ${rule.pattern} (${rule.source})`
  if (action === 'deny') return deny('rules', 'RuleDenied', source, `${name} forbids it`)
  if (passkey) return askForPasskey('rules', source, name)
  if (action === 'ask') return ask('rules', source, `${name} asks`, rules.map(questionOf))
  const answer = rules.some(({ author }) => author === 'project') ? allow : approve
  return answer('rules', source, `${name} allows it`)
}
