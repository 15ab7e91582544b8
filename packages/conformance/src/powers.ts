import { isAbsolute, resolve } from 'node:path'
import {
  allowsNeed, compileGrant, type CallNeed, type CapabilityUse, type Manifest, type RequirementSet, type RuntimePart,
  type ToolManifest,
} from '@bulkhead/contract'
import { needsMore } from './call-requirements.ts'
import { isAccepted, type CallFact, type CallsFacts } from './calls.ts'
import type { Recorder } from './recorder.ts'
import { firstOf, type Requirement } from './requirement.ts'
import { variablesIn, type ConformanceTarget } from './target.ts'

export interface PowerFacts {
  readonly manifest: Manifest
  readonly tools: readonly ToolPowers[]
  readonly unused: Pick<UnusedPowers, 'env' | 'secrets' | 'state'>
  /** Tools of which every call was denied a power. */
  readonly denied: readonly string[]
  /** Tools of which every call failed before it used anything. */
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

/** Compares what was recorded with what is declared. Call it after `conform` has called the tools. */
export function unusedPowers(
  { extension: { manifest }, workspace, recorder }:
  Pick<ConformanceTarget, 'extension' | 'workspace'> & { readonly recorder: Pick<Recorder, 'uses'> },
): UnusedPowers {
  const { uses } = recorder
  return {
    tools: new Map(manifest.tools.map((tool) => [tool.name, powersOf(tool, uses, workspace).unused])),
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
  { extension, workspace, recorder }: ConformanceTarget, { calls }: CallsFacts,
): PowerFacts | string {
  if (recorder === undefined) return 'no recorder was given'
  const { manifest } = extension
  const accepted = (tool: ToolManifest): readonly CallFact[] =>
    calls.filter((call) => call.tool === tool && isAccepted(call))
  return {
    manifest,
    tools: manifest.tools.map((tool) => powersOf(tool, recorder.uses, workspace)),
    unused: unusedByExtension(manifest, recorder.uses),
    idle: manifest.tools.filter((tool) => {
      const own = accepted(tool)
      return needsMore(tool, manifest) && own.length > 0 && own.every(({ error }) => error)
        && !recorder.uses.some((use) => use.tool === tool.name)
    }).map(({ name }) => name),
    plain: recorder.uses.filter(({ part }) => part === 'net').map(({ subject }) => subject)
      .filter((subject) => /^\w+ http:/.test(subject) && !LOCAL.test(subject)),
    denied: manifest.tools.flatMap((tool) => {
      const own = accepted(tool)
      const [first] = own
      // A path or host that a model chooses may lie outside the patterns.
      const isAlways = own.every(({ error }) => error?.code === 'CapabilityDenied')
      return first && isAlways ? [`${tool.name}: ${first.error!.message}`] : []
    }),
  }
}

function powersOf(tool: ToolManifest, all: readonly CapabilityUse[], workspace: string): ToolPowers {
  const uses = all.filter((use) => use.tool === tool.name)
  const subjects = (part: RuntimePart): readonly string[] =>
    uses.filter((use) => use.part === part).map(({ subject }) => subject)
  const { fs = {}, net = {}, shell = [], capabilities = [] } = tool.requires
  const allows = (requires: RequirementSet, needs: readonly CallNeed[]): boolean => {
    const grant = compileGrant(requires, variablesIn(workspace))
    return needs.some((need) => allowsNeed(grant, need))
  }
  const paths = (kind: 'fs.read' | 'fs.write'): readonly CallNeed[] => subjects(kind)
    .map((path) => ({ kind, subject: isAbsolute(path) ? path : resolve(workspace, path), below: true as const }))
  const hosts: readonly CallNeed[] = subjects('net').flatMap((subject) => {
    const url = URL.parse(subject.slice(subject.indexOf(' ') + 1))
    const port = url?.port || (url?.protocol === 'http:' ? '80' : '443')
    return url ? [{ kind: 'net', subject: `${url.hostname}:${port}` }] : []
  })
  const commands: readonly CallNeed[] =
    subjects('shell').map((line) => ({ kind: 'shell', subject: line.split(' ')[0]!, args: line.split(' ').slice(1) }))
  const isUsed = {
    read: (pattern: string) => allows({ fs: { read: [pattern] } }, paths('fs.read')),
    write: (pattern: string) => allows({ fs: { write: [pattern] } }, paths('fs.write')),
    host: (host: string) => allows({ net: { hosts: [host] } }, hosts),
    command: (command: NonNullable<RequirementSet['shell']>[number]) =>
      commands.some(({ subject }) => subject === command.cmd) || (command.cmd === '*' && commands.length > 0),
    capability: (name: string) => subjects(PARTS[name as keyof typeof PARTS]).length > 0,
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

const PARTS = { interact: 'interact', 'tools.call': 'tools', session: 'session' } as const

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
    why: 'A tool that declares a host may fail here for want of an answer. One that never asks the host always fails.',
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
