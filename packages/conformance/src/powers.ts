import {
  beyond, declaredPower, type CapabilityUse, type Manifest, type RequirementSet, type RuntimePart, type ToolManifest,
} from '@bulkhead/contract'
import { isAccepted, type CallFact, type CallsFacts } from './calls.ts'
import { covers, PARTS } from './needs.ts'
import type { Recorder } from './recorder.ts'
import { firstOf, type Requirement } from './requirement.ts'
import type { ConformanceTarget } from './target.ts'

export interface PowerFacts {
  readonly manifest: Manifest
  readonly tools: readonly ToolPowers[]
  readonly unused: Pick<UnusedPowers, 'env' | 'secrets' | 'state'>
  /** Tools that lack a power, each with the reason. */
  readonly denied: readonly string[]
  /** Tools of which every call failed before it used anything, for no reason that is known. */
  readonly idle: readonly string[]
  /** Requests that anyone on the way can read. */
  readonly plain: readonly string[]
}

/** What one tool declares, and what it used. */
export interface ToolPowers {
  readonly tool: ToolManifest
  /** Everything it used, once each. */
  readonly used: readonly string[]
  /** What it declares and never used. */
  readonly unused: RequirementSet
  /** What it declares and used. Patterns are never narrowed. */
  readonly minimal: RequirementSet
}

/** What an extension declares and never used, whole patterns only. */
export interface UnusedPowers {
  /** By the name of the tool. */
  readonly tools: ReadonlyMap<string, RequirementSet>
  readonly env: readonly string[]
  readonly secrets: readonly string[]
  readonly state: boolean
}

type PowerSources = Pick<ConformanceTarget, 'extension' | 'workspace' | 'findTool'>

/** Compares what was recorded with what is declared. Call it after `conform` has called the tools. */
export function unusedPowers(
  { recorder: { uses }, ...target }: PowerSources & { readonly recorder: Pick<Recorder, 'uses'> },
): UnusedPowers {
  const { manifest } = target.extension
  return {
    tools: new Map(manifest.tools.map((tool) => [tool.name, powersOf(tool, uses, target).unused])),
    ...unusedByExtension(manifest, uses),
  }
}

function unusedByExtension(manifest: Manifest, uses: readonly CapabilityUse[]): PowerFacts['unused'] {
  const names = new Set(uses.filter(({ part }) => part === 'env' || part === 'secrets').map(({ subject }) => subject))
  return {
    env: manifest.env.filter((name) => !names.has(name)),
    secrets: manifest.secrets.map(({ name }) => name).filter((name) => !names.has(name)),
    state: manifest.stateSlot !== null && !uses.some(({ part }) => part === 'state'),
  }
}

/** Compares what the tools used in all calls so far with what they declare. */
export function observePowers(
  { recorder, ...target }: ConformanceTarget, { calls, causes }: CallsFacts,
): PowerFacts | string {
  if (recorder === undefined) return 'no recorder was given'
  const { manifest } = target.extension
  const accepted = (tool: ToolManifest): readonly CallFact[] =>
    calls.filter((call) => call.tool === tool && isAccepted(call))
  return {
    manifest,
    tools: manifest.tools.map((tool) => powersOf(tool, recorder.uses, target)),
    unused: unusedByExtension(manifest, recorder.uses),
    idle: manifest.tools.filter((tool) => {
      const own = accepted(tool)
      return declares(tool, manifest) && !causes.has(tool) && own.length > 0 && own.every(({ error }) => error)
        && !recorder.uses.some((use) => use.tool === tool.name)
    }).map(({ name }) => name),
    plain: recorder.uses.filter(({ part }) => part === 'net').map(({ subject }) => subject)
      .filter((subject) => /^\w+ http:/.test(subject) && !LOCAL.test(subject)),
    denied: [...causes].map(([tool, cause]) => `${tool.name}: ${cause}`),
  }
}

/** Whether it says that it needs anything. */
const declares = ({ requires }: ToolManifest, { secrets }: Manifest): boolean =>
  secrets.length > 0 || Object.keys(requires).length > 0

function powersOf(
  tool: ToolManifest, all: readonly CapabilityUse[], { extension, workspace, findTool }: PowerSources,
): ToolPowers {
  const own = all.filter((use) => use.tool === tool.name)
  // A tool must declare what the tools need that it calls.
  const called = new Set(own.filter(({ part }) => part === 'tools').map(({ subject }) => subject))
  const uses = all.filter((use) => use.tool === tool.name || called.has(use.tool))
  const { fs = {}, net = {}, shell = [], capabilities = [] } = tool.requires
  const callees = [...called].flatMap((name) =>
    [extension.manifest, findTool?.(name)?.manifest].flatMap((manifest) =>
      manifest?.tools.find((one) => one.name === name) ?? []))
  /** Whether a host would deny the call of another tool without this part of what is declared. */
  const isNeeded = (part: RequirementSet): boolean => callees.some(({ requires }) => {
    const more = (declared: RequirementSet): number => beyond(declaredPower(requires), declaredPower(declared)).length
    return more(without(tool.requires, part)) > more(tool.requires)
  })
  const isUsedOf = (use: RuntimePart, part: RequirementSet): boolean => isNeeded(part)
    || uses.some((one) => one.part === use && covers(part, one, workspace))
  const isUsed = {
    read: (pattern: string) => isUsedOf('fs.read', { fs: { read: [pattern] } }),
    write: (pattern: string) => isUsedOf('fs.write', { fs: { write: [pattern] } }),
    host: (host: string) => isUsedOf('net', { net: { hosts: [host] } }),
    command: ({ cmd }: NonNullable<RequirementSet['shell']>[number]) =>
      uses.some(({ part, subject }) => part === 'shell' && (cmd === '*' || subject.split(' ')[0] === cmd)),
    capability: (name: string) => uses.some(({ part }) => part === PARTS[name as keyof typeof PARTS]),
  }
  const choose = (wanted: boolean): RequirementSet => requirementsOf({
    read: (fs.read ?? []).filter((pattern) => isUsed.read(pattern) === wanted),
    write: (fs.write ?? []).filter((pattern) => isUsed.write(pattern) === wanted),
    hosts: (net.hosts ?? []).filter((host) => isUsed.host(host) === wanted),
    shell: shell.filter((command) => isUsed.command(command) === wanted),
    capabilities: capabilities.filter((name) => isUsed.capability(name) === wanted),
  })
  return {
    tool, used: [...new Set(uses.map(({ part, subject }) => `${part} ${subject}`))], unused: choose(false),
    minimal: choose(true),
  }
}

/** What is declared besides some patterns and hosts. */
const without = ({ fs, net, ...rest }: RequirementSet, part: RequirementSet): RequirementSet => ({
  ...rest,
  fs: {
    read: (fs?.read ?? []).filter((pattern) => !part.fs?.read?.includes(pattern)),
    write: (fs?.write ?? []).filter((pattern) => !part.fs?.write?.includes(pattern)),
  },
  net: { hosts: (net?.hosts ?? []).filter((host) => !part.net?.hosts?.includes(host)) },
})

interface Chosen {
  readonly read: string[]
  readonly write: string[]
  readonly hosts: string[]
  readonly shell: NonNullable<RequirementSet['shell']>
  readonly capabilities: NonNullable<RequirementSet['capabilities']>
}

/** Without empty parts. */
function requirementsOf({ read, write, hosts, shell, capabilities }: Chosen): RequirementSet {
  const fs = { ...(read.length > 0 && { read }), ...(write.length > 0 && { write }) }
  return {
    ...(Object.keys(fs).length > 0 && { fs }), ...(hosts.length > 0 && { net: { hosts } }),
    ...(shell.length > 0 && { shell }), ...(capabilities.length > 0 && { capabilities }),
  }
}

const SPEC = 'docs/guides/publishing.md'
const LOCAL = /^\w+ http:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?:[:/]|$)/
const WHY = 'People accept what is declared, and code that is taken over has all of it.'
const CURE = 'Remove it from requires (--fix does that), or add an example that uses it.'

/** A kind of power that is declared and never used. */
const used = (
  id: string, what: string, unusedIn: (unused: RequirementSet) => readonly string[] | undefined,
): Requirement<PowerFacts> => ({
  id, level: 'should', spec: SPEC, why: WHY, cure: CURE, statement: `Each tool uses ${what} that it declares.`,
  check: ({ tools }) => firstOf(tools, ({ tool, unused, used: seen, minimal }) => {
    const found = unusedIn(unused) ?? []
    if (found.length === 0) return undefined
    const others = seen.length === 0 ? 'it used nothing' : `it used ${seen.slice(0, 5).join(', ')}`
    return `${tool.name} never used ${found.join(', ')}; ${others}. Minimal requires: ${JSON.stringify(minimal)}`
  }),
})

export const POWER_REQUIREMENTS: readonly Requirement<PowerFacts>[] = [
  {
    id: 'power-declared', level: 'must', spec: SPEC,
    statement: 'No tool needs a power that the manifest does not declare.',
    why: 'Every host denies it.',
    cure: 'Declare it in requires, or do without.',
    check: ({ denied: [first] }) => first,
  },
  {
    id: 'power-reached', level: 'must', spec: SPEC,
    statement: 'A tool of which every call fails has at least used what it needs.',
    why: 'A tool that declares a host and never asks it does not need the host, or fails before.',
    cure: 'Fix the tool, or add an example that works.',
    check: ({ idle: [first] }) => first && `${first}: every call failed, and none used anything`,
  },
  {
    id: 'power-https', level: 'must', spec: SPEC,
    statement: 'Requests to other machines use https.',
    why: 'Anyone on the way can read and change them.',
    cure: 'Use https.',
    check: ({ plain: [first] }) => first,
  },
  used('power-used-read', 'every pattern of fs.read', ({ fs }) => fs?.read),
  used('power-used-write', 'every pattern of fs.write', ({ fs }) => fs?.write),
  used('power-used-hosts', 'every host', ({ net }) => net?.hosts),
  used('power-used-commands', 'every command', ({ shell }) => shell?.map(({ cmd }) => cmd)),
  used('power-used-capabilities', 'every capability', ({ capabilities }) => capabilities),
  {
    id: 'power-used-env', level: 'should', spec: SPEC, why: WHY,
    statement: 'The extension reads every environment variable that it declares.',
    cure: 'Remove the name from env.',
    check: ({ unused: { env } }) => env.length === 0 ? undefined : `it never read ${env.join(', ')}`,
  },
  {
    id: 'power-used-secrets', level: 'should', spec: SPEC, why: WHY,
    statement: 'The extension uses every secret that it declares.',
    cure: 'Remove the name from secrets.',
    check: ({ unused: { secrets } }) => secrets.length === 0 ? undefined : `it never used ${secrets.join(', ')}`,
  },
  {
    id: 'power-used-state', level: 'should', spec: SPEC, why: WHY,
    statement: 'The extension uses the state that it declares.',
    cure: 'Remove stateSlot.',
    check: ({ unused: { state } }) => state ? 'it never read or wrote its state' : undefined,
  },
]
