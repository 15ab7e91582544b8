import type { CapabilityName } from '../model/names.ts'
import type { Ceiling, RequirementSet, SecretManifest, ShellRequirement } from '../validation/requirements.ts'
import { expandPattern, type PatternSource, type VariableValues } from './requirements.ts'

/** The power to start sub-agents. No manifest can declare it: the host grants it to its own tool. */
export const SUBAGENTS = 'subagents'
export type PowerCapability = CapabilityName | typeof SUBAGENTS

/** A secret, and where it may go. */
export interface SecretPower {
  readonly name: string
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
}

/**
 * Everything a tool may do. The broker enforces this type, nested calls and ceilings compare it, and people see and
 * accept it. Paths are absolute patterns, or patterns as in a manifest while variables have no values.
 */
export interface Power {
  readonly fs: {
    readonly read: readonly string[]
    readonly write: readonly string[]
    /**
     * The values of the variables. The broker follows links up to and at these folders, because the operator chose
     * them. Below, a link must lead into the grant. Absent if there is no pattern.
     */
    readonly roots?: readonly string[]
    /** Folders beside the workspace, in which commands may start, and write if they run in a sandbox. */
    readonly commandRoots?: readonly string[]
  }
  readonly net: { readonly hosts: readonly string[] }
  readonly shell: readonly ShellRequirement[]
  readonly capabilities: readonly PowerCapability[]
  /** Environment variables it may read. */
  readonly env: readonly string[]
  /** Secrets it may use without seeing them. */
  readonly secrets: readonly SecretPower[]
  /** The extensions whose stored state it may read and write: its own, or `*` in a ceiling. */
  readonly state: readonly string[]
  /** This power and every ceiling must cover each use. */
  readonly ceilings?: readonly Power[]
}

export const NO_GRANT: Power = {
  fs: { read: [], write: [] }, net: { hosts: [] }, shell: [], capabilities: [], env: [], secrets: [], state: [],
}

/** In place of an extension id: every extension. */
export const ANY_STATE = '*'

/** The fields of a manifest that apply to the whole extension. */
export interface ExtensionPower {
  readonly env?: readonly string[]
  readonly secrets?: readonly SecretManifest[]
  /** Ids of the extensions whose stored state it may use. */
  readonly state?: readonly string[]
  readonly subagents?: boolean
}

/** The power that a manifest declares, with variables. */
export function declaredPower(requires: RequirementSet, extension: ExtensionPower = {}): Power {
  const { env = [], secrets = [], state = [], subagents = false } = extension
  return {
    fs: { read: requires.fs?.read ?? [], write: requires.fs?.write ?? [] },
    net: { hosts: requires.net?.hosts ?? [] },
    shell: requires.shell ?? [],
    capabilities: [...requires.capabilities ?? [], ...(subagents ? [SUBAGENTS] as const : [])],
    env,
    secrets: secrets.map(({ name, hosts = [], commands = [] }) => ({ name, hosts, commands })),
    state,
  }
}

/** Throws RequirementInvalid for an invalid pattern. */
export const compileGrant = (
  requires: RequirementSet, values: VariableValues, extension?: ExtensionPower, source?: PatternSource,
): Power => withValues(declaredPower(requires, extension), values, source)

/** The ceiling that a configuration declares, with variables. */
export function declaredCeiling({ env, secrets = [], state = false, ...requires }: Ceiling): Power {
  const hosts = requires.net?.hosts ?? []
  const commands = (requires.shell ?? []).map(({ cmd }) => cmd)
  return declaredPower(requires, {
    ...(env && { env }), secrets: secrets.map((name) => ({ name, hosts, commands })), state: state ? [ANY_STATE] : [],
    // The same ceiling limits what sub-agents do.
    subagents: true,
  })
}

/** Throws RequirementInvalid for an invalid pattern. */
export const compileCeiling = (ceiling: Ceiling, values: VariableValues): Power =>
  withValues(declaredCeiling(ceiling), values)

function withValues(power: Power, values: VariableValues, source?: PatternSource): Power {
  const roots = new Set<string>()
  const expand = (patterns: readonly string[]): string[] => patterns.flatMap((pattern) => {
    const expanded = expandPattern(pattern, values, source)
    for (const { root } of expanded) roots.add(outermost(root, values))
    return expanded.map(({ path }) => path)
  })
  const fs = { read: expand(power.fs.read), write: expand(power.fs.write) }
  const [, ...commandRoots] = new Set(values.workspace?.map((root) => outermost(root, values)))
  const hasPlaces = roots.size + power.shell.length > 0 && commandRoots.length > 0
  return {
    ...power, fs: { ...fs, ...(roots.size > 0 && { roots: [...roots] }), ...(hasPlaces && { commandRoots }) },
  }
}

/**
 * A power without the paths of this machine: what is below the value of a variable names the variable. Other absolute
 * paths stay, and mean nothing on another machine.
 */
export function portablePower(power: Power, values: VariableValues): Power {
  const named = Object.entries(values).flatMap(([name, roots]) => roots.map((root) => ({ name, root })))
    .toSorted((one, other) => other.root.length - one.root.length)
  const portable = (pattern: string): string => {
    const found = named.find(({ root }) => pattern === root || pattern.startsWith(root === '/' ? root : `${root}/`))
    if (found === undefined) return pattern
    const rest = pattern.slice(found.root.length).replace(/^\//, '')
    return rest === '' ? `{${found.name}}` : `{${found.name}}/${rest}`
  }
  return {
    ...power, fs: { read: power.fs.read.map(portable), write: power.fs.write.map(portable) },
    ...(power.ceilings && { ceilings: power.ceilings.map((ceiling) => portablePower(ceiling, values)) }),
  }
}

/** A portable power with the paths of this machine. A path without a variable is dropped. Throws RequirementInvalid. */
export function localPower(power: Power, values: VariableValues): Power {
  const known = (patterns: readonly string[]) => patterns.filter((pattern) => pattern.startsWith('{'))
  const fs = { read: known(power.fs.read), write: known(power.fs.write) }
  return {
    ...withValues({ ...power, fs }, values),
    ...(power.ceilings && { ceilings: power.ceilings.map((ceiling) => localPower(ceiling, values)) }),
  }
}

/**
 * A tool that may write the outer of two folders can replace the inner one by a link. So links are followed only up to
 * the outer one. The folder of {user-data} is in the home of the host, which no tool may write.
 */
function outermost(root: string, values: VariableValues): string {
  const { workspace = [], 'ad-hoc': adHoc = [], 'user-data': userData = [] } = values
  if (userData.includes(root)) return root
  return [...workspace, ...adHoc].reduce((outer, value) => isBelow(outer, value) ? value : outer, root)
}

/** With the separators of each system. */
const isBelow = (path: string, folder: string): boolean =>
  path.startsWith(folder) && (/[\\/]$/.test(folder) || /^[\\/]/.test(path.slice(folder.length)))
