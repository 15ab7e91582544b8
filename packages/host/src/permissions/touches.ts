import {
  compileGrant, hostCovers, matchSegment, pathSegments, type Grant, type RuleCapability, type RuleQuestion, type ScopedRule,
  type VariableValues,
} from '@bulkhead/contract'
import { commandLine } from './describe-grant.ts'

type Touch = RuleQuestion['touches'][number]

/**
 * What a call of a tool with this grant may touch, as far as any rule can tell: each pattern of the grant, and each
 * rule's own pattern that meets one. Which file a call will open is not known before it runs, so a rule against
 * `secrets/**` also speaks of a tool that may write anywhere.
 */
export function touchesOf(grant: Grant, rules: readonly ScopedRule[]): readonly Touch[] {
  const granted: readonly Touch[] = [
    ...grant.fs.read.map((subject): Touch => ({ capability: 'fs.read', subject })),
    ...grant.fs.write.map((subject): Touch => ({ capability: 'fs.write', subject })),
    ...grant.net.hosts.map((subject): Touch => ({ capability: 'net.fetch', subject })),
    ...grant.shell.map((command): Touch => ({ capability: 'shell.run', subject: commandLine(command) })),
  ]
  const named = rules.flatMap((rule): readonly Touch[] => {
    const meets = ({ capability, subject }: Touch) => capability === rule.permission && OVERLAP[capability](subject, rule.pattern)
    return granted.some(meets) ? [{ capability: rule.permission as RuleCapability, subject: rule.pattern }] : []
  })
  return [...granted, ...named]
}

/** Whether something could match both patterns. May say yes too often, never no wrongly. */
const OVERLAP: Readonly<Record<RuleCapability, (granted: string, pattern: string) => boolean>> = {
  'fs.read': pathsOverlap,
  'fs.write': pathsOverlap,
  'net.fetch': (a, b) => hostCovers(a, b) || hostCovers(b, a),
  // What follows may be nothing.
  'shell.run': (granted, pattern) => textsOverlap(granted.replace(/ …$/, '*'), pattern),
}

function pathsOverlap(a: string, b: string): boolean {
  const [left, right] = [pathSegments(a), pathSegments(b)]
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    if (left[index] === '**' || right[index] === '**') return true
    if (!textsOverlap(left[index]!, right[index]!)) return false
  }
  // The shorter one names a folder above the other.
  return true
}

function textsOverlap(a: string, b: string): boolean {
  if (matchSegment(a, b) || matchSegment(b, a)) return true
  if (!a.includes('*') || !b.includes('*')) return false
  const [left, right] = [a.slice(0, a.indexOf('*')), b.slice(0, b.indexOf('*'))]
  return left.startsWith(right) || right.startsWith(left)
}

/** Path patterns of rules are written as in requirements; the grant's are absolute, so these become so too. */
export function expandRule(rule: ScopedRule, values: VariableValues): readonly ScopedRule[] {
  const speaksOfFiles = rule.permission === 'fs.read' || rule.permission === 'fs.write'
  if (!speaksOfFiles || rule.pattern.startsWith('/') || /^\*{1,2}$/.test(rule.pattern)) return [rule]
  return compileGrant({ fs: { read: [rule.pattern] } }, values).fs.read.map((pattern) => ({ ...rule, pattern }))
}
