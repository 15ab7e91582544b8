import { z } from 'zod'
import { ENV_NAME_PATTERN } from '../model/names.ts'
import { expandPattern, requirementSet, type CapabilityName, type RequirementSet, type ShellRequirement, type VariableValues } from './requirements.ts'
import type { SecretManifest } from '../validation/secrets.ts'

/** To start sub-agents. No manifest can ask for it: the host gives it to the tool of its own that does so. */
export const SUBAGENTS = 'subagents'
export type PowerCapability = CapabilityName | typeof SUBAGENTS

/** A secret, and where it may go. */
export interface SecretPower {
  readonly name: string
  readonly hosts: readonly string[]
  readonly commands: readonly string[]
}

/**
 * All that a tool may do. This one type is what the broker enforces, what nested calls and ceilings compare, what a person is asked
 * about and accepts, and what is listed. Paths are absolute patterns, or as in a manifest where its variables have no values yet.
 */
export interface Power {
  readonly fs: {
    readonly read: readonly string[]
    readonly write: readonly string[]
    /**
     * The folders that stood for the variables. Links are followed up to and at them, because whoever runs the host chose
     * them; below, a link must lead into the grant. Absent where no pattern is left.
     */
    readonly roots?: readonly string[]
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
  /** Each use must be covered by this power and by every one of these. */
  readonly ceilings?: readonly Power[]
}

export const NO_GRANT: Power = {
  fs: { read: [], write: [] }, net: { hosts: [] }, shell: [], capabilities: [], env: [], secrets: [], state: [],
}

/** In the place of an extension: every one. */
export const ANY_STATE = '*'

/** What a manifest says of a whole extension. */
export interface ExtensionPower {
  readonly env?: readonly string[]
  readonly secrets?: readonly SecretManifest[]
  /** Ids of the extensions whose stored state is meant. */
  readonly state?: readonly string[]
  readonly subagents?: boolean
}

/** A power in the words of a manifest, its variables not replaced. */
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

/** Throws RequirementInvalid for a pattern that cannot be read. */
export const compileGrant = (requires: RequirementSet, values: VariableValues, extension?: ExtensionPower): Power =>
  withValues(declaredPower(requires, extension), values)

const names = z.array(z.string().regex(ENV_NAME_PATTERN, 'the name of an environment variable')).max(64)

/** The most that a tool may be given. What is not named is not given. */
export const ceilingSet = requirementSet.extend({
  env: names.optional().describe('Environment variables that may be read.'),
  secrets: names.optional().describe('Secrets that may be used, each for the hosts and commands of this ceiling.'),
  state: z.boolean().optional().describe('Whether extensions may keep state.'),
})
export type Ceiling = z.infer<typeof ceilingSet>

/** A ceiling in the words of its configuration. */
export function declaredCeiling({ env, secrets = [], state = false, ...requires }: Ceiling): Power {
  const hosts = requires.net?.hosts ?? []
  const commands = (requires.shell ?? []).map(({ cmd }) => cmd)
  return declaredPower(requires, {
    ...(env && { env }), secrets: secrets.map((name) => ({ name, hosts, commands })), state: state ? [ANY_STATE] : [],
    // What they do lies under the same ceiling.
    subagents: true,
  })
}

/** Throws RequirementInvalid for a pattern that cannot be read. */
export const compileCeiling = (ceiling: Ceiling, values: VariableValues): Power => withValues(declaredCeiling(ceiling), values)

function withValues(power: Power, values: VariableValues): Power {
  const roots = new Set<string>()
  const expand = (patterns: readonly string[]): string[] => patterns.flatMap((pattern) => expandPattern(pattern, values).map(({ root, path }) => {
    roots.add(root)
    return path
  }))
  const fs = { read: expand(power.fs.read), write: expand(power.fs.write) }
  return { ...power, fs: roots.size === 0 ? fs : { ...fs, roots: [...roots] } }
}
