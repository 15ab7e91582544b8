import { join } from 'node:path'
import {
  CONFIG_FILE, namedTwice, type ConfigFile, type Diagnostic, type Layer, type LayerConfig, type ResolvedConfig,
} from '@bulkhead/contract'
import { findJsonFault, JSON_LIMITS, type Json, type JsonObject } from '@bulkhead/kit/json'
import { deepFreeze } from '@bulkhead/kit/json-copy'
import { visibleText } from '@bulkhead/kit/text'
import { diagnose, type Fault } from '../model/result.ts'
import { LEARNING, withinWritten, type LooseningSetting } from './loosening.ts'
import { readMachinePolicy } from './machine-policy.ts'
import { mergeLayers } from './merge-layers.ts'
import {
  readConfigFile, TOOLS_OFF, unreadable, validateConfig, type ConfigSource, type ValidConfig,
} from './config-file.ts'
import type { Settings } from './settings.ts'

interface Source {
  readonly layer: LayerConfig['layer']
  readonly location: string
  readonly written: ConfigSource
}

export interface ConfigResolution {
  readonly config: ResolvedConfig
  readonly diagnostics: readonly Diagnostic[]
  /** The digest of the configuration file of the project. */
  readonly projectFileDigest: string | null
}

/**
 * Precedence: bundled < global < project < overrides of the embedder. The policy of the machine restricts all of them.
 * `projectRoot` is null until the project is trusted, and an object for a folder whose rules cannot be known.
 */
export function resolveConfig(
  settings: Settings, projectRoot: string | { readonly unusable: string } | null, overrides: ConfigFile | undefined,
): ConfigResolution {
  const { defaults, globalRoot, globalConfig, limits: { manifestBytes: maxBytes } } = settings
  const file = (layer: Layer, root: string, followLinks: boolean, instead: string | null = null): Source => {
    const location = instead ?? join(root, CONFIG_FILE)
    return { layer, location, written: readConfigFile(location, { maxBytes, followLinks }) }
  }
  const sources: readonly Source[] = [
    { layer: 'bundled', location: 'bundled', written: fromProgram(defaults) },
    // Users may link to their settings. A link in a project could point anywhere.
    ...(globalRoot === null ? [] : [file('global', globalRoot, true, globalConfig)]),
    ...(projectRoot === null ? [] : [typeof projectRoot === 'string' ? file('project', projectRoot, false) : {
      layer: 'project' as const, location: projectRoot.unusable, written: DISABLED,
    }]),
    ...(overrides === undefined
      ? [] : [{ layer: 'embedder' as const, location: 'overrides', written: fromProgram(overrides) }]),
  ]
  const machine = settings.machine && readMachinePolicy(settings.machine, maxBytes)
  const validated = countingSettings(
    sources.map((source) => ({ source, ...validateConfig(source.written.value) })), machine?.config.mode,
  )
  const layers = validated.map(({ source: { layer, location, written: { ruleLines } }, config, omitted }): LayerConfig =>
    deepFreeze({ layer, location, config, ...(omitted.length > 0 && { omitted }), ...(ruleLines && { ruleLines }) }))
  const policy = machine && {
    layer: 'machine' as const, location: settings.machine!.file, config: machine.config,
    ...(machine.ruleLines && { ruleLines: machine.ruleLines }),
  }
  if (policy) layers.push(deepFreeze(policy))
  const merged = mergeLayers(layers)
  return {
    projectFileDigest: sources.find(({ layer }) => layer === 'project')?.written.digest ?? null,
    config: Object.freeze({ merged, layers: Object.freeze(layers) }),
    diagnostics: [
      ...validated.flatMap(({ source, faults }) =>
        [...source.written.faults, ...faults].map((fault) => report(source, fault, 'error'))),
      ...(policy ? machine.faults.map((fault) => report(policy, fault, 'error')) : []),
      ...validated.flatMap(({ source, ignored = [] }) =>
        ignored.map((setting) => report(source, ignoredFault(setting), 'warning'))),
      ...configWarnings(layers, merged).map(({ source, fault }) => report(source, fault, 'warning')),
    ],
  }
}

interface ValidatedSource extends ValidConfig {
  readonly source: Source
  /** Settings of a project that do not count. */
  readonly ignored?: readonly LooseningSetting[]
}

/** Leaves out what a project would loosen of what the user wrote. `mode` is that of the machine. */
function countingSettings(
  validated: readonly ValidatedSource[], mode: ConfigFile['mode'],
): readonly ValidatedSource[] {
  const configOf = (layer: LayerConfig['layer']): ConfigFile =>
    validated.find(({ source }) => source.layer === layer)?.config ?? {}
  const user = configOf('global')
  const written = { ...user, mode: user.mode ?? configOf('embedder').mode ?? mode }
  return validated.map((one) =>
    one.source.layer === 'project' ? { ...one, ...withinWritten(one.config, written) } : one)
}

const ignoredFault = ({ path, value, before }: LooseningSetting): Fault => ({
  stage: 'configSchema', code: 'ConfigInvalid', path,
  message: path === '/mode' && value === LEARNING
    ? 'A project cannot make a host learn a policy, so this has no effect. Set it in your own configuration.'
    : path === '/allowlist'
    ? `The allowlist of the project is not used: the mode ${JSON.stringify(before)} was chosen by you or for this `
      + 'machine, and a project cannot loosen it.'
    : `${visibleText(path)} of the project is not used: your configuration has ${shown(before)}, and `
      + `${shown(value)} is not known to be stricter.`,
  cure: 'Remove the setting from the project, or your own.',
})

const shown = (value: Json | undefined): string => visibleText(JSON.stringify(value)).slice(0, 200)

/** The load reports why. */
const DISABLED: ConfigSource = { value: TOOLS_OFF, faults: [], digest: null }

/** Checks a configuration object like a file. */
function fromProgram(config: ConfigFile): ConfigSource {
  const passed = findJsonFault(config)?.code === 'kind' ? withoutUndefined(config) : config
  const fault = findJsonFault(passed)
  if (fault === undefined) return { value: JSON.parse(JSON.stringify(passed)) as JsonObject, faults: [], digest: null }
  return unreadable('The configuration', null, fault.path, `has a value that ${fault.message}`)
}

/**
 * Removes undefined members at any depth. Leaves values that are not plain data, or too deep, for the check to refuse.
 */
function withoutUndefined(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > JSON_LIMITS.maxDepth) return value
  if (Array.isArray(value)) return value.map((member) => withoutUndefined(member, depth + 1))
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).flatMap(([key, member]: [string, unknown]) =>
    member === undefined ? [] : [[key, withoutUndefined(member, depth + 1)]]))
}

/** Diagnostics have no layer for the embedder and the machine, so their faults count as bundled. */
function report(
  source: Pick<Source, 'layer' | 'location'>, fault: Fault, severity: Diagnostic['severity'],
): Diagnostic {
  const { location } = source
  const layer = source.layer === 'embedder' || source.layer === 'machine' ? 'bundled' : source.layer
  return diagnose({ layer, extensionId: null, location }, { ...fault, location }, severity)
}

export interface ConfigWarning {
  readonly source: LayerConfig
  readonly fault: Fault
}

function configWarnings(layers: readonly LayerConfig[], merged: ConfigFile): readonly ConfigWarning[] {
  return layers.flatMap((source) => [
    ...allowlistWithoutMode(source.config, layers), ...refusedToProject(source),
    ...approvalsOfProject(source), ...machinesOfProject(source),
    ...keysNamedTwice(source, merged),
  ].map((fault) => ({ source, fault })))
}

/** Settings of which a project has no say. A project could … */
const NOT_OF_PROJECTS: readonly (readonly [setting: keyof ConfigFile, what: string])[] = [
  // … make its own tools run without a question.
  ['treatment', 'change how modes of tools are treated'],
  // … make commands see more of the user, or load its own code.
  ['commands', 'change what commands see and get'],
  // … keep its own approvals, and hide what it did.
  ['store', 'choose the store'],
  // … have private results kept, or hide what it did.
  ['record', 'decide what is recorded'],
  // … widen what calls may do that run without a question.
  ['learn', 'change how a policy is learned'],
]

const refusedToProject = ({ layer, config }: LayerConfig): Fault[] => NOT_OF_PROJECTS
  .filter(([setting]) => layer === 'project' && config[setting] !== undefined)
  .map(([setting, what]) => ({
    stage: 'configSchema', code: 'ConfigInvalid', path: `/${setting}`,
    message: `A project cannot ${what}, so this has no effect. Set it in your own configuration.`,
  }))

/** A project could send its code, and what tools are given, to other machines. */
function machinesOfProject({ layer, config: { extensions = {}, rules = [] } }: LayerConfig): Fault[] {
  if (layer !== 'project') return []
  const message = 'A project cannot choose the machine of a tool, so this has no effect. Set it in your own configuration.'
  const places = [
    ...Object.entries(extensions).flatMap(([id, { runsOn }]) => runsOn === undefined ? [] : [`/extensions/${id}`]),
    ...rules.flatMap(({ runsOn }, index) => runsOn === undefined ? [] : [`/rules/${index}`]),
  ]
  return places.map((place) => ({ stage: 'configSchema', code: 'ConfigInvalid', path: `${place}/runsOn`, message }))
}

/** An approval for a project would outlive the session in which a person saw what the project does. */
function approvalsOfProject({ layer, config }: LayerConfig): Fault[] {
  if (layer !== 'project' || config.approvals?.project !== true) return []
  const message = 'A project cannot enable approvals for itself, so this has no effect. '
    + 'Set approvals.project in your own configuration.'
  return [{ stage: 'configSchema', code: 'ConfigInvalid', path: '/approvals/project', message }]
}

/** In one layer, the schema refuses a name that is in both. */
function keysNamedTwice({ layer, config }: LayerConfig, { commands = {} }: ConfigFile): Fault[] {
  const { keys = {} } = config.commands ?? {}
  if (layer === 'project' || layer === 'machine') return []
  return namedTwice(commands).filter((name) => Object.hasOwn(keys, name)).map((name) => ({
    stage: 'configSchema', code: 'ConfigInvalid', path: `/commands/keys/${name}`,
    message: `${name} is a key here, and in commands.env of another layer. Neither the key nor its value is used. `
      + 'Remove one of them.',
  }))
}

/** Without the mode, the entries have no effect. */
function allowlistWithoutMode(config: ConfigFile, layers: readonly LayerConfig[]): Fault[] {
  if ((config.allowlist?.length ?? 0) === 0 || layers.some((layer) => layer.config.mode === 'allowlist')) return []
  const message = 'The allowlist has entries, but no layer sets the mode to allowlist.'
  return [{ stage: 'configSchema', code: 'AllowlistWithoutMode', path: '/allowlist', message }]
}

/** A member by an untrusted name: `constructor` must not find the inherited one. */
export function ownMember<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined
}
