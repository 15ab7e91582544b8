import { globContains, globsOverlap, pathSegments, relationTo } from '@bulkhead/kit/glob'
import { hostCovers, hostMatches, hostsOverlap } from '@bulkhead/kit/hosts'
import { ANY_COMMAND } from '../model/names.ts'
import type { Ceiling, ShellRequirement } from '../validation/requirements.ts'
import type { CallNeed } from './approval-key.ts'
import { ANY_STATE, type Power, type PowerCapability, type SecretPower } from './power.ts'
import { looseName, mustBeNamed } from './protected-places.ts'
import { canonicalPattern, commandsOverlap, commandText, matchArguments, shellCovers } from './requirements.ts'

/** One thing a power allows. */
export interface PowerItem {
  readonly kind: 'fs.read' | 'fs.write' | 'net' | 'shell' | 'capability' | 'env' | 'secret' | 'state'
  /** A pattern, or several joined by "within": all of them must match. */
  readonly subject: string
}

/** How the patterns of one kind are read from a power, compared and printed. */
interface PatternKind<Pattern> {
  readonly kind: PowerItem['kind']
  of(power: Power): readonly Pattern[]
  /** Conservative: false may be wrong, true never is. */
  covers(wide: Pattern, narrow: Pattern): boolean
  /** Conservative: true may be wrong, false never is. */
  overlaps(a: Pattern, b: Pattern): boolean
  text(pattern: Pattern): string
}

const paths = { covers: pathCovers, overlaps: pathsOverlap, text: (pattern: string) => pattern }
const READ: PatternKind<string> = { kind: 'fs.read', of: ({ fs }) => fs.read, ...paths }
const WRITE: PatternKind<string> = {
  kind: 'fs.write', of: ({ fs }) => fs.write, ...paths,
  covers: (wide, narrow) => pathCovers(wide, narrow) && namesProtected(wide, narrow),
}
const NET: PatternKind<string> =
  { kind: 'net', of: ({ net }) => net.hosts, covers: hostCovers, overlaps: hostsOverlap, text: (host) => host }
const SHELL: PatternKind<ShellRequirement> =
  { kind: 'shell', of: ({ shell }) => shell, covers: shellCovers, overlaps: commandsOverlap, text: commandText }

/** Everything a power allows under its ceilings: files, hosts and commands first. */
export function powerItems(power: Power): readonly PowerItem[] {
  const patterns = <Pattern>(kind: PatternKind<Pattern>) =>
    narrowed(kind, power).map((all): PowerItem =>
      ({ kind: kind.kind, subject: all.map((one) => kind.text(one)).join(' within ') }))
  return [...patterns(READ), ...patterns(WRITE), ...patterns(NET), ...patterns(SHELL), ...namedItems(power)]
}

function namedItems({ capabilities, env, secrets, state }: Power): readonly PowerItem[] {
  return [
    ...capabilities.map((subject): PowerItem => ({ kind: 'capability', subject })),
    ...env.map((subject): PowerItem => ({ kind: 'env', subject })),
    ...secrets.flatMap(secretUses).map((subject): PowerItem => ({ kind: 'secret', subject })),
    ...state.map((subject): PowerItem => ({ kind: 'state', subject })),
  ]
}

const secretUses = ({ name, hosts, commands }: SecretPower): readonly string[] =>
  [...hosts, ...commands].map((to) => `${name} to ${to}`)

/** `may` completes "it may …", in a question or a reason. `does` describes a tool in a list. */
type PowerPhrase = Readonly<Record<'may' | 'does', string>>

const CAPABILITY_PHRASES: Readonly<Record<PowerCapability, PowerPhrase>> = {
  'interact': { may: 'ask you questions', does: 'asks the person' },
  'tools.call': { may: 'call other tools', does: 'calls other tools' },
  'session': { may: 'keep notes for this session', does: 'keeps notes for the session' },
  'subagents': { may: 'start sub-agents', does: 'starts sub-agents' },
}

const phrase = (verb: string, third: string, object: string): PowerPhrase =>
  ({ may: `${verb} ${object}`, does: `${third} ${object}` })

const PHRASES: Readonly<Record<PowerItem['kind'], (subject: string) => PowerPhrase>> = {
  'fs.read': (path) => phrase('read', 'reads', path),
  'fs.write': (path) => phrase('write', 'writes', path),
  'net': (host) => phrase('reach', 'reaches', host),
  'shell': (command) => phrase('run', 'runs', command),
  'capability': (name) => CAPABILITY_PHRASES[name as PowerCapability],
  'env': (name) => phrase('read', 'reads', `the variable ${name}`),
  'secret': (use) => phrase('use', 'uses', `the secret ${use.replace(' to ', ' for ')}`),
  'state': (owner) => ({ may: `read and write the stored state of ${owner}`, does: 'keeps state' }),
}

/** What a power allows, in words for a person, one phrase for each item. */
export const powerPhrases = (
  items: readonly Pick<PowerItem, 'kind' | 'subject'>[], form: keyof PowerPhrase,
): readonly string[] => items.map(({ kind, subject }) => PHRASES[kind](subject)[form])

/** What `asked` allows and `allowed` does not. Contract: never throws. */
export function beyond(asked: Power, allowed: Power): readonly PowerItem[] {
  const layers = [allowed, ...allowed.ceilings ?? []]
  const patterns = <Pattern>(kind: PatternKind<Pattern>) => kind.of(asked)
    .filter((item) => !layers.every((layer) => isCovered(kind, item, asked.ceilings ?? [], kind.of(layer))))
    .map((item): PowerItem => ({ kind: kind.kind, subject: kind.text(item) }))
  const more: Pick<Power, 'capabilities' | 'env' | 'secrets' | 'state'> = {
    capabilities: asked.capabilities.filter((name) => !allowed.capabilities.includes(name)),
    env: asked.env.filter((name) => !allowed.env.includes(name)),
    secrets: asked.secrets.flatMap((secret) =>
      secretBeyond(secret, allowed.secrets.find(({ name }) => name === secret.name))),
    state: asked.state.filter((owner) => !stateCovers(allowed.state, owner)),
  }
  const named = namedItems({ ...asked, ...more })
  return [...patterns(READ), ...patterns(WRITE), ...patterns(NET), ...patterns(SHELL), ...named]
}

/** Whether `within` covers everything that matches the pattern and one pattern of each ceiling. */
function isCovered<Pattern>(
  kind: PatternKind<Pattern>, item: Pattern, ceilings: readonly Power[], within: readonly Pattern[],
): boolean {
  const covered = (one: Pattern) => within.some((wide) => kind.covers(wide, one))
  return covered(item) || ceilings.some((ceiling) =>
    kind.of(ceiling).filter((one) => kind.overlaps(one, item)).every(covered))
}

function secretBeyond(
  { name, hosts, commands }: SecretPower, allowed: SecretPower | undefined,
): readonly SecretPower[] {
  const more = {
    name,
    hosts: hosts.filter((host) => !(allowed?.hosts ?? []).some((wide) => hostCovers(wide, host))),
    commands: commands.filter((command) => !(allowed?.commands ?? []).includes(command)),
  }
  return more.hosts.length + more.commands.length > 0 ? [more] : []
}

const stateCovers = (allowed: readonly string[], owner: string): boolean =>
  allowed.includes(owner) || allowed.includes(ANY_STATE)

/** The ceilings of all layers. They apply together. */
export function ceilingsOf({ merged, layers }: CeiledLayers): readonly LocatedCeiling[] {
  const found = layers.flatMap(({ location, config: { policy } }) =>
    policy?.ceiling === undefined ? [] : [{ location, ceiling: policy.ceiling }])
  const { ceiling } = merged.policy ?? {}
  const isFound = ceiling === undefined || found.some((one) => one.ceiling === ceiling)
  return isFound ? found : [...found, { location: 'the configuration', ceiling }]
}

export interface LocatedCeiling {
  /** The file that it is from. */
  readonly location: string
  readonly ceiling: Ceiling
}

interface CeiledLayers {
  readonly merged: Ceiled
  readonly layers: readonly { readonly location: string; readonly config: Ceiled }[]
}

interface Ceiled {
  readonly policy?: { readonly ceiling?: Ceiling | undefined } | undefined
}

/**
 * A power under a ceiling: `*` under X is X. Patterns of both are kept, and each use must match one pattern of the
 * power and one of every ceiling. Only patterns that cannot match both are dropped.
 */
export function narrowPower(power: Power, ceiling: Power): Power {
  const meeting = <Pattern>(kind: PatternKind<Pattern>): readonly Pattern[] =>
    kind.of(power).filter((item) => kind.of(ceiling).some((other) => kind.overlaps(item, other)))
  const fs = { read: meeting(READ), write: meeting(WRITE) }
  const roots = [...new Set([...power.fs.roots ?? [], ...ceiling.fs.roots ?? []])]
  return {
    fs: {
      ...fs, ...(fs.read.length + fs.write.length > 0 && roots.length > 0 && { roots }),
      ...(power.fs.commandRoots && { commandRoots: power.fs.commandRoots }),
    },
    net: { hosts: meeting(NET) },
    shell: meeting(SHELL),
    capabilities: power.capabilities.filter((name) => ceiling.capabilities.includes(name)),
    env: power.env.filter((name) => ceiling.env.includes(name)),
    secrets: power.secrets.flatMap((secret) =>
      secretWithin(secret, ceiling.secrets.find(({ name }) => name === secret.name))),
    state: power.state.filter((owner) => stateCovers(ceiling.state, owner)),
    ceilings: [...power.ceilings ?? [], ceiling, ...ceiling.ceilings ?? []],
  }
}

/** The hosts and commands of the power itself limit a secret as well. */
function secretWithin(
  { name, hosts, commands }: SecretPower, ceiling: SecretPower | undefined,
): readonly SecretPower[] {
  if (ceiling === undefined) return []
  const within = {
    name,
    hosts: hosts.filter((host) => ceiling.hosts.some((other) => hostsOverlap(host, other))),
    commands: commands.filter((command) => ceiling.commands.some((cmd) => cmd === command || cmd === '*')),
  }
  return within.hosts.length + within.commands.length > 0 ? [within] : []
}

/** Each pattern of a power with the ceiling patterns that narrow it. A use must match all patterns of one list. */
function narrowed<Pattern>(kind: PatternKind<Pattern>, power: Power): readonly (readonly Pattern[])[] {
  let lists: readonly (readonly Pattern[])[] = kind.of(power).map((item) => [item])
  for (const ceiling of power.ceilings ?? []) {
    const limits = kind.of(ceiling)
    lists = lists.flatMap((all) => {
      if (all.some((one) => limits.some((limit) => kind.covers(limit, one)))) return [all]
      return limits.filter((limit) => all.every((one) => kind.overlaps(one, limit)))
        .map((limit) => [...all.filter((one) => !kind.covers(one, limit)), limit])
    })
  }
  return lists
}

/** Whether a power and each of its ceilings allow what a call needs. */
export const allowsNeed = (power: Power, { kind, subject, below, args }: CallNeed): boolean =>
  [power, ...power.ceilings ?? []].every((layer) => {
    switch (kind) {
      case 'net': return hostMatches(layer.net.hosts, subject)
      case 'shell': return layer.shell.some((command) =>
        (command.cmd === subject || command.cmd === ANY_COMMAND)
        && (args === undefined || matchArguments(command.args, args)))
      default: return READING[kind].of(layer).some((pattern) =>
        relationTo(pattern, subject)[below ? 'leads' : 'covers'])
    }
  })

const READING = { 'fs.read': READ, 'fs.write': WRITE }

/** The paths, hosts and commands that a power allows. Each entry is a list of patterns that must all match. */
export const allowedPatterns = (power: Power) => ({
  read: narrowed(READ, power), write: narrowed(WRITE, power), hosts: narrowed(NET, power),
  shell: narrowed(SHELL, power).map((all) => all.map(commandText)),
})

/** `src/**` and `{workspace}/src/**` are the same pattern. An invalid pattern neither covers nor is covered. */
function pathCovers(wide: string, narrow: string): boolean {
  try {
    return globContains(comparable(wide), comparable(narrow)) === true
  } catch {
    return false
  }
}

/** A pattern covers a protected name only if it contains that name. */
function namesProtected(wide: string, narrow: string): boolean {
  const named = new Set(pathSegments(wide).map(looseName))
  return pathSegments(narrow).every((name) => !mustBeNamed(name) || named.has(looseName(name)))
}

function pathsOverlap(a: string, b: string): boolean {
  try {
    return globsOverlap(comparable(a), comparable(b))
  } catch {
    return false
  }
}

const ABSOLUTE = /^(?:\/|[A-Za-z]:[\\/]|\\\\)/
const comparable = (pattern: string): string => ABSOLUTE.test(pattern) ? pattern : canonicalPattern(pattern)
