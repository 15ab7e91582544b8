import {
  actionWords, BulkheadError, comparePatterns, isCapability, isEverything, obstacleOf, patternsCross, rulePlace, SUBJECT_KINDS,
  type ResolvedConfig, type RuleCapability, type ScopedRule, type SubjectKind, type ToolListing, type VariableValues,
} from '@bulkhead/contract'
import { globContains, matchSegment, textsOverlap } from '@bulkhead/kit/glob'
import { configuredRules } from '../model/settings.ts'
import { withPaths } from './touches.ts'

/** Something in the rules that their author may not have meant. */
export interface RuleFinding {
  readonly kind: 'cannot win' | 'contradicts' | 'too wide' | 'decides nothing'
  /** A note is about rules that work, and says how. */
  readonly severity: 'problem' | 'note'
  readonly rule: ScopedRule
  /** The rule that beats it, or that it contradicts. */
  readonly other?: ScopedRule
  readonly message: string
  readonly cure: string
}

/** More rules are not compared with each other, which would take too long. */
const MOST_RULES = 300

/**
 * What is wrong with the rules of a configuration, as far as patterns and tools tell. That a rule decides no call is found
 * by trying calls.
 */
export function lintRules(
  config: ResolvedConfig, tools: readonly ToolListing[], variables: VariableValues,
): readonly RuleFinding[] {
  const rules = locatedRules(config, variables)
  const compared = rules.length > MOST_RULES ? [] : rules
  return rules.flatMap((rule) => {
    const beaten = compared.length === 0 ? undefined : idle(rule, compared, tools)
    if (beaten) return [beaten]
    return [tooWide(rule, tools) ?? [], compared.flatMap((other) => crossing(rule, other, tools) ?? [])].flat()
  })
}

/** The rules of a configuration, with the paths that they stand for. */
export const locatedRules = (config: ResolvedConfig, variables: VariableValues): readonly ScopedRule[] =>
  configuredRules(config).map((rule) => located(rule, variables))

/** A pattern that cannot be compiled is reported when a session opens. */
function located(rule: ScopedRule, variables: VariableValues): ScopedRule {
  try {
    return withPaths(rule, variables)
  } catch (error) {
    if (BulkheadError.is(error)) return rule
    throw error
  }
}

const textOf = (rule: ScopedRule): string => `"${rule.permission} ${rule.pattern} ${actionWords(rule)}"`

function idle(rule: ScopedRule, rules: readonly ScopedRule[], tools: readonly ToolListing[]): RuleFinding | undefined {
  const other = obstacleOf(rule, rules, kindsOf(rule, tools))
  if (other === undefined) return undefined
  const isOpposite = rule.permission === other.permission && rule.action !== other.action
    && kindsOf(rule, tools).every((kind) => comparePatterns(rule, other, kind) === 'same')
  const place = `${textOf(other)} of ${rulePlace(other)}`
  return {
    kind: isOpposite ? 'contradicts' : 'cannot win', severity: 'problem', rule, other,
    message: isOpposite ? `It never decides: ${place} is about the same calls, and the stricter one decides.`
      : `It never decides: ${place} matches everything that it matches.`,
    cure: rule.action === other.action || isOpposite ? 'Remove one of them.'
      : 'Give it a narrower pattern or permission, if its author may loosen the other, or remove it.',
  }
}

/** What a pattern of the rule is compared with. For a tool, what its powers tell; else anything. */
function kindsOf({ permission }: ScopedRule, tools: readonly ToolListing[]): readonly SubjectKind[] {
  if (permission === 'net.fetch') return ['host']
  if (permission === 'shell.run') return ['text']
  if (isCapability(permission)) return ['path']
  const powers = new Set(namedTools(permission, tools).flatMap(({ may }) => may.map(({ kind }) => kind)))
  if (powers.has('shell')) return ['text']
  if (powers.has('fs.read') || powers.has('fs.write')) return ['path']
  return powers.has('net') ? ['host'] : SUBJECT_KINDS
}

const sourceOf = ({ server, name }: ToolListing): string =>
  server === undefined ? name : `${server.kind}:${server.name}:${name}`

const namedTools = (permission: string, tools: readonly ToolListing[]): readonly ToolListing[] =>
  tools.filter((tool) => matchSegment(permission, tool.name) || matchSegment(permission, sourceOf(tool)))

/** Two rules that overlap, told once, at the looser one: where both match, the stricter decides. */
function crossing(rule: ScopedRule, other: ScopedRule, tools: readonly ToolListing[]): RuleFinding | undefined {
  if (rule.action !== 'allow' || other.action === 'allow') return undefined
  const isSameKind = isCapability(rule.permission) || isCapability(other.permission)
    ? rule.permission === other.permission : textsOverlap(rule.permission, other.permission)
  if (!isSameKind || !kindsOf(rule, tools).every((kind) => patternsCross(rule, other, kind))) return undefined
  return {
    kind: 'contradicts', severity: 'note', rule, other,
    message: `Where ${textOf(other)} of ${rulePlace(other)} matches too, that rule decides.`,
    cure: 'Nothing, if you meant that. Otherwise make one pattern lie inside the other.',
  }
}

/** Programs that run what their arguments name. */
const RUNNERS: ReadonlySet<string> = new Set(
  ('sh bash zsh dash fish ksh env sudo doas su xargs nohup timeout nice time exec eval node deno bun python python3 perl ruby '
    + 'php lua osascript npx pnpx bunx uvx pipx docker podman ssh').split(' '),
)
const WIDE_POWERS: Readonly<Record<string, string>> =
  { 'shell': 'run commands', 'net': 'reach the network', 'fs.write': 'write files' }
const WIDE_CAPABILITIES: Readonly<Record<RuleCapability, string>> = {
  'shell.run': 'every command of every tool', 'net.fetch': 'every host for every tool',
  'fs.write': 'every file for every tool that writes', 'fs.read': 'every file for every tool that reads',
}

function tooWide(rule: ScopedRule, tools: readonly ToolListing[]): RuleFinding | undefined {
  const what = rule.action === 'allow' ? widthOf(rule, tools) : undefined
  return what === undefined ? undefined : {
    kind: 'too wide', severity: 'problem', rule, message: `It allows ${what}, without a question.`,
    cure: 'Name what you need: a command such as "npm test", a folder such as src/**, a host such as api.example.com.',
  }
}

/** What it allows, if that is more than anyone can foresee. */
function widthOf({ permission, pattern, paths = [pattern] }: ScopedRule, tools: readonly ToolListing[]): string | undefined {
  const named = isCapability(permission) ? [] : namedTools(permission, tools)
  if (isEverything(pattern)) {
    if (permission === '*') return 'every call of every tool'
    if (isCapability(permission)) return WIDE_CAPABILITIES[permission]
    const powers = new Set(named.flatMap(({ may }) => may.map(({ kind }) => WIDE_POWERS[kind] ?? [])).flat())
    return powers.size === 0 ? undefined : `every call of ${permission}, which may ${[...powers].join(' and ')}`
  }
  const kinds = kindsOf({ permission, pattern } as ScopedRule, tools)
  if (kinds.includes('text') && (kinds.length === 1)) return wideCommand(pattern)
  if (kinds.length === 1 && kinds[0] === 'host') return wideHost(pattern)
  return paths.some((path) => globContains(path, '/') === true) ? 'every file on this machine' : undefined
}

function withoutStars(text: string): string {
  let end = text.length
  while (text[end - 1] === '*') end--
  return text.slice(0, end)
}

function wideCommand(pattern: string): string | undefined {
  const [program = '', ...rest] = pattern.split(' ')
  if (program.includes('*') && !/[\w./-]{2}/.test(program.replaceAll('*', ''))) return `every command that ends like "${pattern}"`
  const name = withoutStars(program).split('/').at(-1)!
  const isOpen = rest.length === 0 ? program.endsWith('*') : rest[0]!.startsWith('*')
  return isOpen && RUNNERS.has(name) ? `every command: ${name} runs what its arguments name` : undefined
}

/** `*.com` and `*.co.uk` belong to anyone. */
function wideHost(pattern: string): string | undefined {
  const [, rest] = /^\*\.([a-z]{2,}|(?:co|com|net|org|gov|ac)\.[a-z]{2})(?::\d+)?$/.exec(pattern) ?? []
  return rest === undefined ? undefined : `every host below .${rest}`
}
