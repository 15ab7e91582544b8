import {
  allowedPatterns, capabilitiesMeant, compileGrant, isBundledTool, type AffectedPath, type ArgumentsReading,
  type BundledTool, type CallEffects, type Power, type RuleCapability, type RuleQuestion, type ScopedRule, type Touch,
  type VariableValues,
} from '@bulkhead/contract'
import { isWithin } from '@bulkhead/kit/programs'
import { resolve } from 'node:path'
import type { ToolEntry } from '../extensions/registry/tool-entry.ts'
import type { CallAnalysis, NamedPath, Subject } from './model/checked-call.ts'

/** Everything that a tool with this power may touch, as patterns. Which part a call touches is known when it does. */
export function unknownTouches(power: Power): readonly Touch[] {
  const { read, write, hosts, shell } = allowedPatterns(power)
  const of = (capability: RuleCapability, lists: readonly (readonly string[])[]): readonly Touch[] =>
    lists.map(([subject, ...within]) =>
      ({ capability, subject: subject!, isUnknown: true, ...(within.length > 0 && { within }) }))
  return [...of('fs.read', read), ...of('fs.write', write), ...of('net.fetch', hosts), ...of('shell.run', shell)]
}

/** The bundled tool that asks language servers, which run in jails. */
const LANGUAGES: BundledTool = 'lsp'

/** How rules apply to what is not known before a call. */
export function unknownPartsOf(tool: ToolEntry, { command, wall }: CallAnalysis): NonNullable<RuleQuestion['unknown']> {
  const { name, origin, extension: { descriptor: { server, code } } } = tool
  // Without a jail, and for a document, nothing judges what is used.
  if (server) return server.kind === 'mcp' && server.unconfined !== true ? 'jailed' : 'decided'
  // Code of the embedder runs in the process of the host, and need not use the broker.
  if (code.kind === 'module' && !(origin.layer === 'bundled' && isBundledTool(name))) return 'decided'
  if (name === LANGUAGES) return 'jailed'
  return command !== undefined && wall?.wall === 'open' ? 'decided' : 'left'
}

export interface TouchSources {
  readonly workspace: string
  /** Everything that the tool may touch. */
  readonly unknown: readonly Touch[]
  /** Whether rules look at paths or hosts. If none does, links are not followed. */
  readonly withEffects: boolean
}

/**
 * What a call touches: exactly what the host reads in its arguments, and the unknown rest of what its tool may touch. The
 * approval key is one more entry. Paths that a key is the folder of stand for that key.
 */
export function touchesOf(analysis: CallAnalysis, { workspace, unknown, withEffects }: TouchSources): readonly Touch[] {
  const { subjects, needs = [], commands = [] } = analysis
  const powers = new Set(unknown.map(({ capability }) => capability))
  // A tool cannot do more than it may, whatever its arguments say.
  const paths = (withEffects ? analysis.named?.() ?? [] : []).filter(({ capability }) => powers.has(capability))
  const inKey = ({ key, names }: Subject) => names === undefined
    ? paths.filter(({ path, isClaim }) => !isClaim && isWithin(path, resolve(workspace, key))) : []
  const keyed = new Set(subjects.flatMap(inKey))
  const hasCommands = hasCommandsIn(subjects)
  const known = knownCapabilities(analysis, withEffects, hasCommands)
  return [
    ...subjects.filter((subject) => inKey(subject).length === 0).map((subject) => keyTouch(subject, powers)),
    ...paths.flatMap((path) => pathTouches(path, keyed.has(path))),
    ...needs.flatMap(({ kind, subject, args = [] }): readonly Touch[] => {
      if (kind === 'net') return [{ capability: 'net.fetch', subject, ...(subject === '*' && { isUnknown: true }) }]
      return kind === 'shell' && !hasCommands
        ? [{ capability: 'shell.run', subject: [subject, ...args].join(' '), names: [] }] : []
    }),
    ...commands.map((subject): Touch => ({ capability: 'shell.run', subject, names: [] })),
    ...unknown.filter(({ capability }) => !known.has(capability!)),
  ]
}

/** Rules can deny what a wall lets through, or ask about it. An allow of the commands covers it. */
function keyTouch(subject: Subject, powers: ReadonlySet<RuleCapability | undefined>): Touch {
  const { key, plain = key, names, ofWall } = subject
  return {
    subject: plain, ...(!ofWall && { isKey: true }), ...(names && { names }),
    ...(isCommand(subject) && powers.has('shell.run') && { capability: 'shell.run' }),
  }
}

/** Both ends of a link count, also for what a call is approved by. */
const pathTouches = ({ capability, path, real = path, below }: NamedPath, isKey: boolean): readonly Touch[] =>
  [...new Set([path, real])].flatMap((subject): readonly Touch[] => [
    { capability, subject, ...(isKey && { isKey }) },
    ...(below ? [{ capability, subject: `${subject}/**`, isUnknown: true } as const] : []),
  ])

/** The capabilities of which a call uses no more than its arguments say. */
export function knownCapabilities(
  { effects, command, wall, subjects, needs = [] }: CallAnalysis, withEffects = true, hasCommands = hasCommandsIn(subjects),
): ReadonlySet<RuleCapability> {
  const { reads, writes, net } = withEffects ? effects?.() ?? {} : {}
  // Such a wall lets through the hosts that the call is known to need, and no others.
  const isWalled = wall !== undefined && wall.wall !== 'open' && wall.hosts !== 'all'
  return new Set<RuleCapability>([
    ...(reads ? ['fs.read'] as const : []), ...(writes ? ['fs.write'] as const : []),
    ...(net === false || isWalled ? ['net.fetch'] as const : []),
    ...(command && (hasCommands || needs.some(({ kind }) => kind === 'shell')) ? ['shell.run'] as const : []),
  ])
}

const isCommand = ({ names, ofWall, ofAction }: Subject): boolean => names !== undefined && !ofWall && !ofAction
const hasCommandsIn = (subjects: readonly Subject[]): boolean => subjects.some(isCommand)

type RealPath = ((path: string) => string) | undefined

/** The paths that arguments name. What a call needs is named too, if its effects are not known. */
export function namedPaths({ effects = {}, needs = [] }: ArgumentsReading, realPath: RealPath): readonly NamedPath[] {
  const of = (capability: 'fs.read' | 'fs.write', paths: readonly AffectedPath[] | undefined): readonly NamedPath[] =>
    (paths ?? needs.filter(({ kind }) => kind === capability)
      .map(({ subject, below = false }) => ({ path: subject, below })))
      .map((path) => withReal({ ...path, capability }, realPath))
  return [...of('fs.read', effects.reads), ...of('fs.write', effects.writes)]
}

/** Adds where the links of a path lead, if they can be followed. */
export function withReal(path: NamedPath, realPath: RealPath): NamedPath {
  try {
    return realPath ? { ...path, real: realPath(path.path) } : path
  } catch {
    return path
  }
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
 * Path patterns of rules are written as in requirements. Paths are absolute, so these become absolute too. The pattern
 * of a rule for a tool may be no path.
 */
export function withPaths(rule: ScopedRule, values: VariableValues): ScopedRule {
  const { permission, pattern } = rule
  if (pattern.startsWith('/') || /^\*{1,2}$/.test(pattern)) return rule
  const isOfFiles = permission === 'fs.read' || permission === 'fs.write'
  try {
    return { ...rule, paths: compileGrant({ fs: { read: [pattern] } }, values).fs.read }
  } catch (thrown) {
    if (isOfFiles) throw thrown
    return { ...rule, paths: [] }
  }
}

/** Adds the real path of every path. Paths whose links cannot be followed become unknown. */
export function followLinks({ reads, writes, net }: CallEffects, realPath: RealPath): CallEffects {
  const [allReads, allWrites] = [followPaths(reads, realPath), followPaths(writes, realPath)]
  return {
    ...(allReads && { reads: allReads }), ...(allWrites && { writes: allWrites }), ...(net === false && { net }),
  }
}

function followPaths(
  paths: readonly AffectedPath[] | undefined, realPath: RealPath,
): readonly AffectedPath[] | undefined {
  if (paths === undefined || paths.length === 0) return paths
  try {
    return realPath && paths.flatMap((one) => [one, { ...one, path: realPath(one.path) }])
  } catch {
    return undefined
  }
}
