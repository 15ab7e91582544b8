import {
  allowedPatterns, capabilitiesMeant, compileGrant, type Power, type RuleCapability, type RuleQuestion, type ScopedRule, type VariableValues,
} from '@bulkhead/contract'
import { globsOverlap, textsOverlap } from '@bulkhead/kit/glob'
import { hostCovers } from '@bulkhead/kit/hosts'

type Touch = RuleQuestion['touches'][number]

/**
 * What a call of a tool with this power may touch, as far as any rule can tell: each pattern that its ceilings leave, and each
 * rule's own pattern that meets one. Which file a call will open is not known before it runs, so a rule against
 * `secrets/**` also speaks of a tool that may write anywhere.
 */
export function touchesOf(power: Power, rules: readonly ScopedRule[]): readonly Touch[] {
  const { read, write, hosts, shell } = allowedPatterns(power)
  const granted: readonly Granted[] = [
    ...read.map((all): Granted => ({ capability: 'fs.read', all })),
    ...write.map((all): Granted => ({ capability: 'fs.write', all })),
    ...hosts.map((all): Granted => ({ capability: 'net.fetch', all })),
    ...shell.map((all): Granted => ({ capability: 'shell.run', all })),
  ]
  // What matches several patterns matches the first of them: a rule that allows that one allows all of it.
  return [...granted.map(({ capability, all }): Touch => ({ capability, subject: all[0]! })), ...meetingRules(granted, rules)]
}

/** The pattern of each rule that something of this could match. */
export function meetingRules(granted: readonly Granted[], rules: readonly ScopedRule[]): readonly Touch[] {
  return rules.flatMap((rule): readonly Touch[] => {
    const meets = ({ capability, all }: Granted) => capability === rule.permission && all.every((one) => OVERLAP[capability](one, rule.pattern))
    return granted.some(meets) ? [{ capability: rule.permission as RuleCapability, subject: rule.pattern }] : []
  })
}

/** What a tool may touch: all that matches each of these patterns. */
interface Granted {
  readonly capability: RuleCapability
  readonly all: readonly string[]
}

/** Whether something could match both patterns. May say yes too often, never no wrongly. */
const OVERLAP: Readonly<Record<RuleCapability, (granted: string, pattern: string) => boolean>> = {
  'fs.read': globsOverlap,
  'fs.write': globsOverlap,
  'net.fetch': (a, b) => hostCovers(a, b) || hostCovers(b, a),
  // What follows may be nothing.
  'shell.run': (granted, pattern) => textsOverlap(granted.replace(/ …$/, '*'), pattern),
}

/**
 * A rule that forbids or asks, and names no capability and no tool here but begins like a capability, applies to all that begin so
 * too: what it was meant for is not known. One that allows gains nothing.
 */
export function meantRules(rule: ScopedRule, isTool: (name: string) => boolean): readonly ScopedRule[] {
  const { permission, action } = rule
  const meant = action === 'allow' || isTool(permission) ? undefined : capabilitiesMeant(permission)
  return meant === undefined ? [rule] : [rule, ...meant.map((capability) => ({ ...rule, permission: capability, written: permission }))]
}

/** Path patterns of rules are written as in requirements; the grant's are absolute, so these become so too. */
export function expandRule(rule: ScopedRule, values: VariableValues): readonly ScopedRule[] {
  const speaksOfFiles = rule.permission === 'fs.read' || rule.permission === 'fs.write'
  if (!speaksOfFiles || rule.pattern.startsWith('/') || /^\*{1,2}$/.test(rule.pattern)) return [rule]
  return compileGrant({ fs: { read: [rule.pattern] } }, values).fs.read.map((pattern) => ({ ...rule, pattern }))
}
