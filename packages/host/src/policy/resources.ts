import {
  allowedPatterns, capabilitiesMeant, compileGrant, type AffectedPath, type CallEffects, type Power,
  type RuleCapability, type RuleQuestion, type ScopedRule, type VariableValues,
} from '@bulkhead/contract'
import { globsOverlap, matchGlob, textsOverlap } from '@bulkhead/kit/glob'
import { hostCovers } from '@bulkhead/kit/hosts'

/** A file, host or command that a call may touch, as rules name it. */
type Resource = RuleQuestion['touches'][number]

/**
 * What a tool with this power may touch: each pattern that its ceilings leave, and the pattern of each rule that
 * overlaps one. The file that a call will open is not known before it runs, so a rule against `secrets/**` also applies
 * to a tool that may write anywhere.
 */
export function resourcesOf(power: Power, rules: readonly ScopedRule[]): readonly Resource[] {
  const { read, write, hosts, shell } = allowedPatterns(power)
  const granted: readonly Granted[] = [
    ...read.map((all): Granted => ({ capability: 'fs.read', all })),
    ...write.map((all): Granted => ({ capability: 'fs.write', all })),
    ...hosts.map((all): Granted => ({ capability: 'net.fetch', all })),
    ...shell.map((all): Granted => ({ capability: 'shell.run', all })),
  ]
  // Everything that matches several patterns matches the first: a rule that allows that one allows all of it.
  return [
    ...granted.map(({ capability, all }): Resource => ({ capability, subject: all[0]! })),
    ...overlappingRules(granted, rules),
  ]
}

/** The pattern of each rule that overlaps one of these. */
function overlappingRules(granted: readonly Granted[], rules: readonly ScopedRule[]): readonly Resource[] {
  return rules.flatMap((rule): readonly Resource[] => {
    const overlaps = ({ capability, all }: Granted) =>
      capability === rule.permission && all.every((one) => OVERLAP[capability](one, rule.pattern))
    return granted.some(overlaps) ? [{ capability: rule.permission as RuleCapability, subject: rule.pattern }] : []
  })
}

/** Everything that matches all of these patterns. */
interface Granted {
  readonly capability: RuleCapability
  readonly all: readonly string[]
}

/** Whether something could match both patterns. A wrong yes is possible, a wrong no is not. */
const OVERLAP: Readonly<Record<RuleCapability, (granted: string, pattern: string) => boolean>> = {
  'fs.read': globsOverlap,
  'fs.write': globsOverlap,
  'net.fetch': (a, b) => hostCovers(a, b) || hostCovers(b, a),
  // Further words are optional.
  'shell.run': (granted, pattern) => textsOverlap(granted.replace(/ …$/, '*'), pattern),
}

/**
 * A rule that denies or asks, and that names no capability and no tool but begins like a capability, applies to every
 * capability that begins so: which one it was written for is not known. A rule that allows stays as it is.
 */
export function meantRules(rule: ScopedRule, isTool: (name: string) => boolean): readonly ScopedRule[] {
  const { permission, action } = rule
  const meant = action === 'allow' || isTool(permission) ? undefined : capabilitiesMeant(permission)
  return meant === undefined
    ? [rule] : [rule, ...meant.map((capability) => ({ ...rule, permission: capability, written: permission }))]
}

/**
 * Path patterns of rules are written as in requirements. The patterns of a grant are absolute, so these become absolute
 * too.
 */
export function expandRule(rule: ScopedRule, values: VariableValues): readonly ScopedRule[] {
  const isOfFiles = rule.permission === 'fs.read' || rule.permission === 'fs.write'
  if (!isOfFiles || rule.pattern.startsWith('/') || /^\*{1,2}$/.test(rule.pattern)) return [rule]
  return compileGrant({ fs: { read: [rule.pattern] } }, values).fs.read.map((pattern) => ({ ...rule, pattern }))
}

/** Adds the real path of every path. Paths whose links cannot be followed become unknown. */
export function followLinks(
  { reads, writes, net }: CallEffects, realPath: ((path: string) => string) | undefined,
): CallEffects {
  const [allReads, allWrites] = [followPaths(reads, realPath), followPaths(writes, realPath)]
  return {
    ...(allReads && { reads: allReads }), ...(allWrites && { writes: allWrites }), ...(net === false && { net }),
  }
}

function followPaths(
  paths: readonly AffectedPath[] | undefined, realPath: ((path: string) => string) | undefined,
): readonly AffectedPath[] | undefined {
  if (paths === undefined || paths.length === 0) return paths
  try {
    return realPath && paths.flatMap((one) => [one, { ...one, path: realPath(one.path) }])
  } catch {
    return undefined
  }
}

/** What a call touches: the effects that are known, and everything else that its tool may touch. */
export function resourcesOfCall(
  { reads, writes, net }: CallEffects, ofTool: readonly Resource[], rules: readonly ScopedRule[],
): readonly Resource[] {
  const known = new Map<RuleCapability, readonly Resource[]>()
  if (reads) known.set('fs.read', reads.flatMap((path) => resourcesOfPath('fs.read', path, rules)))
  if (writes) known.set('fs.write', writes.flatMap((path) => resourcesOfPath('fs.write', path, rules)))
  if (net === false) known.set('net.fetch', [])
  // A tool cannot do more than it may, whatever its arguments say.
  const powers = new Set(ofTool.map(({ capability }) => capability))
  return [
    ...ofTool.filter(({ capability }) => !known.has(capability)),
    ...[...known].flatMap(([capability, resources]) => powers.has(capability) ? resources : []),
  ]
}

function resourcesOfPath(
  capability: RuleCapability, { path, below }: AffectedPath, rules: readonly ScopedRule[],
): readonly Resource[] {
  const own: Resource = { capability, subject: path }
  if (below) return [own, ...overlappingRules([{ capability, all: [`${path}/**`] }], rules)]
  // A rule that names a folder applies to everything in it.
  const above = rules.filter(({ permission, pattern }) => permission === capability && matchGlob(`${pattern}/**`, path))
  return [own, ...above.map(({ pattern }): Resource => ({ capability, subject: pattern }))]
}
