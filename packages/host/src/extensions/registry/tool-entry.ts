import {
  BulkheadError, byteSize, CALL_LIMITS, classifyEffects, classifyToolMode, compileApprovalKey, declaresSetting,
  hasEffects, isBundledTool, isRepeatable, namesSensitiveFiles, powerItems, REQUIREMENT_VARIABLES,
  type ApprovalKeyTemplate, type ExtensionDescriptor, type LockedTool, type OutcomeOrigin, type Power, type PowerItem,
  type RuleCapability, type ToolDefinition, type ToolKind, type ToolManifest, type VariableValues,
} from '@bulkhead/contract'
import type { ReturnForm } from '@bulkhead/contract/dialects'
import { isJsonObject, type Json, type JsonObject } from '@bulkhead/kit/json'
import type { Settings } from '../../model/settings.ts'
import type { Extension } from '../lifecycle/extension.ts'
import type { SchemaCheck, Validators } from '../schema-checks.ts'

/** The bytes that implement a tool, its description and what it may do. An approval is bound to all three. */
export interface ToolDigests {
  readonly package: string
  readonly tool: string
  readonly capability: string
}

/** What a tool may do, before and under the ceilings of the configuration. */
export interface ToolPowers {
  readonly declared: Power
  readonly grant: Power
  /** The power under the ceiling of each file and those before it. The last one is `grant`. */
  readonly ceilings: readonly { readonly source: `policy.ceiling of ${string}`; readonly power: Power }[]
}

/** A registered tool with everything that a call needs, computed in advance. Frozen; a change creates a new one. */
export interface ToolEntry extends ToolPowers {
  readonly name: string
  readonly definition: ToolDefinition
  /** The definition for callers, who may change its schemas. */
  readonly shown: ToolDefinition
  readonly extension: Extension
  readonly origin: OutcomeOrigin
  readonly digests: ToolDigests
  /** For a tool of a server: the name that rules use for it. */
  readonly source: string | undefined
  /** What an approval is bound to besides its key. */
  readonly identity: string
  /** The same, for a session in which the variables have other values. */
  readonly powersWith: (values: VariableValues) => ToolPowers
  /** The items of the grant, with variables in paths, for a list. */
  readonly may: () => readonly PowerItem[]
  readonly check: SchemaCheck
  /** How its results are read. */
  readonly returns: ReturnForm
  /** Absent: the tool's code derives the key if it can, else the name of the tool is the key. */
  readonly approvalKey: ApprovalKeyTemplate | undefined
  /** Arguments that name a path, host or command, as the manifest says. */
  readonly claims: readonly (readonly [argument: string, capability: RuleCapability])[]
  readonly timeoutMs: number
  /** Set for a tool whose calls choose the time of their commands with `timeout_ms`. */
  readonly commandTime: typeof commandTimeOf | undefined
  readonly maxOutputBytes: number
  /** The most entries of a list in a result. */
  readonly maxEntries: number
  /** The manifest declares `gated: false`, and the host ignores it. */
  readonly gatedByHost: boolean
  /** Whether it can read files with credentials or variables. The broker refuses them to others. */
  readonly canReveal: boolean
}

interface CommandTime {
  /** What commands may not use: they are ended before the deadline of their call, so that it has their output. */
  readonly reserveMs: number
  /** The deadline of the call, if it asks for one. */
  readonly leftMs: number | undefined
}

const RESERVE_MS = 10_000

/** The deadline follows the time that a call asks for, unless its caller has set one. */
function commandTimeOf({ timeout_ms: asked }: JsonObject, deadlineMs: number | undefined): CommandTime {
  if (deadlineMs !== undefined) return { reserveMs: Math.min(RESERVE_MS, deadlineMs / 5), leftMs: deadlineMs }
  return { reserveMs: RESERVE_MS, leftMs: typeof asked === 'number' ? asked + RESERVE_MS : undefined }
}

const LOCKED_TIMEOUTS: ReadonlyMap<string, number> =
  new Map<LockedTool, number>([['bash', 120_000], ['web_search', 15_000]])
const LOCKED_KINDS: ReadonlyMap<string, ToolKind> = new Map<LockedTool, ToolKind>([
  ['read', 'read'], ['write', 'edit'], ['edit', 'edit'], ['glob', 'search'], ['grep', 'search'],
  ['tool_search', 'search'],
  ['bash', 'execute'], ['code_mode', 'execute'], ['web_search', 'fetch'], ['web_fetch', 'fetch'], ['skill', 'think'],
])

export interface ToolSource extends ToolPowers, Pick<ToolEntry, 'powersWith'> {
  readonly manifest: ToolManifest
  readonly descriptor: ExtensionDescriptor
  readonly extension: Extension
  readonly variables: VariableValues
}

/** Throws ConfigSchemaInvalid or ApprovalKeyInvalid, with the field below the tool's in `data.path`. */
export function compileTool(source: ToolSource, validators: Validators, settings: Settings): ToolEntry {
  const { manifest, descriptor, declared, grant, ceilings, powersWith, extension, variables } = source
  const { approvalKey: template } = manifest
  const { id, version, layer, digests, server } = descriptor
  // The manifests of bundled tools are trusted: they are reviewed with the host.
  const isTrusted = layer === 'bundled'
  const isConfined = descriptor.code.kind === 'files' && !server
  const mode = isTrusted && manifest.mode ? manifest.mode : classifyToolMode(manifest, {
    env: descriptor.manifest.env, secrets: descriptor.manifest.secrets, ...(isConfined && descriptor.manifest),
  })
  // What a bridge declares counts. Its mode may follow from the name, which the server has chosen.
  const isDeclared = server !== undefined && manifest.effects !== undefined
  const effects = classifyEffects(manifest, {
    isConfined, isTrusted: isDeclared || isOwnTool(manifest.name, descriptor), mode,
    stateSlot: descriptor.manifest.stateSlot,
  })
  // In the order in which records are written.
  const origin = Object.freeze({ digest: digests.package, extension: id, layer, version })
  const bound = Object.freeze({
    package: digests.package, tool: digests.tools.get(manifest.name) ?? '', capability: digests.capability,
  })
  const isTimed = isTrusted && declaresSetting(manifest.inputSchema, 'timeout_ms')
  const commandTime = isTimed ? commandTimeOf : undefined
  const inputSchema = isTimed ? withLongest(manifest, descriptor, settings) : manifest.inputSchema
  const gatedByHost = !manifest.gated && !isTrusted && hasEffects(manifest.requires, descriptor.manifest)
  const definition: ToolDefinition = Object.freeze({
    name: manifest.name,
    label: manifest.label ?? manifest.name,
    description: manifest.description,
    inputSchema,
    ...(manifest.outputSchema === undefined ? {} : { outputSchema: manifest.outputSchema }),
    requires: manifest.requires,
    mode,
    kind: manifest.kind ?? LOCKED_KINDS.get(manifest.name) ?? 'other',
    gated: manifest.gated || gatedByHost,
    idempotent: isRepeatable(effects),
    effects,
    ...(manifest.verify === undefined ? {} : { verify: manifest.verify }),
    executor: server ? 'remote' : 'local',
  })
  return Object.freeze({
    name: manifest.name,
    definition,
    shown: Object.freeze(withCopiedSchemas(definition)),
    extension,
    origin,
    digests: bound,
    source: server && `${server.kind}:${server.name}:${server.tools.get(manifest.name) ?? manifest.name}`,
    identity: toolIdentity(manifest.name, origin, bound),
    declared,
    grant,
    ceilings,
    powersWith,
    may: () => powerItems(withVariables(grant, variables)),
    check: isTrusted
      ? validators.compileLate(inputSchema)
      : located('/inputSchema', () => validators.compile(manifest.inputSchema)),
    returns: returnsOf(manifest, server, validators),
    approvalKey: template === undefined ? undefined : located('/approvalKey', () => compileApprovalKey(template)),
    claims: Object.entries(manifest.touches ?? {}),
    timeoutMs: timeoutOf(manifest, descriptor, settings, isTimed),
    commandTime,
    maxOutputBytes: settings.bound('maxOutput', manifest.name, descriptor)
      ?? (manifest.maxOutput === undefined ? CALL_LIMITS.shownBytes : byteSize(manifest.maxOutput)),
    maxEntries: settings.bound('maxEntries', manifest.name, descriptor) ?? manifest.maxEntries ?? Infinity,
    gatedByHost,
    canReveal: (manifest.requires.shell?.length ?? 0) > 0 || (manifest.requires.fs?.read ?? []).some(namesSensitiveFiles),
  })
}

/**
 * Whether it ships with the host, and acts only through the broker. Tools that an embedder registers are no such tools.
 */
export const isOwnTool = (name: string, { layer, code }: Pick<ExtensionDescriptor, 'layer' | 'code'>): boolean =>
  layer === 'bundled' && code.kind === 'module' && isBundledTool(name)

/**
 * A server answers in the form of its protocol, whatever its schemas say. Those describe the data in it. A schema that
 * cannot be compiled is satisfied by nothing.
 */
function returnsOf(
  { outputSchema, dialect }: ToolManifest, server: ExtensionDescriptor['server'], validators: Validators,
): ReturnForm {
  if (server !== undefined) return server.kind === 'mcp' ? { dialect: 'mcp' } : {}
  if (outputSchema === undefined) return { dialect }
  const check = validators.compileLate(outputSchema)
  const satisfies = (value: Json): boolean => {
    try {
      return check(value) === undefined
    } catch {
      return false
    }
  }
  return { dialect, satisfies }
}

/** Changes whenever the tool needs a new approval. */
export const toolIdentity = (tool: string, { layer, extension }: OutcomeOrigin, digests: ToolDigests): string =>
  [tool, extension, layer, digests.package, digests.tool, digests.capability].join('\0')

/** The configured time is that of the commands, if the tool has some. */
function timeoutOf(
  { name, timeoutMs: declared }: ToolManifest, descriptor: ExtensionDescriptor, settings: Settings,
  isTimed: boolean,
): number {
  const configured = settings.common('timeoutMs', name, descriptor)
  const wanted = configured ?? declared ?? LOCKED_TIMEOUTS.get(name) ?? CALL_LIMITS.defaultTimeoutMs
  const most = isTimed ? settings.bound('maxTimeoutMs', name, descriptor) : undefined
  return Math.min(
    Math.min(wanted, CALL_LIMITS.maxTimeoutMs) + (isTimed && configured !== undefined ? RESERVE_MS : 0),
    most === undefined ? Infinity : most + RESERVE_MS,
  )
}

/**
 * A call may ask for more time than the default, up to what is configured, and for as much as the default. The model
 * sees that number.
 */
function withLongest(
  { name, inputSchema: schema }: ToolManifest, descriptor: ExtensionDescriptor, settings: Settings,
): JsonObject {
  const properties = schema['properties'] as JsonObject
  const own = properties['timeout_ms'] as JsonObject
  const usual = settings.common('timeoutMs', name, descriptor)
  const most = settings.bound('maxTimeoutMs', name, descriptor) ?? Math.max(usual ?? 0, Number(own['maximum']))
  return most === own['maximum'] ? schema
    : { ...schema, properties: { ...properties, timeout_ms: { ...own, maximum: most } } }
}

/** A power with variables in its paths: people read {workspace} more easily than the folder it stands for. */
function withVariables(power: Power, values: VariableValues): Power {
  const roots = REQUIREMENT_VARIABLES.flatMap((name) => (values[name] ?? []).map((root) => ({ name, root })))
    .toSorted((a, b) => b.root.length - a.root.length)
  const show = (pattern: string): string => {
    const found = roots.find(({ root }) => pattern === root || pattern.startsWith(root === '/' ? '/' : `${root}/`))
    if (found === undefined) return pattern
    const rest = pattern.slice(found.root === '/' ? 1 : found.root.length + 1)
    return rest === '' ? `{${found.name}}` : `{${found.name}}/${rest}`
  }
  const shown = (one: Power): Power => ({ ...one, fs: { read: one.fs.read.map(show), write: one.fs.write.map(show) } })
  return { ...shown(power), ceilings: (power.ceilings ?? []).map(shown) }
}

/**
 * A definition for callers. Its schemas are copied whenever they are read: other libraries modify what they get, and
 * fail if it is frozen. Calls are checked with the registered schema.
 */
export function withCopiedSchemas<Definition extends ToolDefinition>(definition: Definition): Definition {
  const { inputSchema, outputSchema } = definition
  const copy = { ...definition }
  Object.defineProperty(copy, 'inputSchema', { get: () => structuredClone(inputSchema) })
  if (outputSchema !== undefined) {
    Object.defineProperty(copy, 'outputSchema', { get: () => structuredClone(outputSchema) })
  }
  return copy
}

/** Adds the location in the manifest, at or below `base`, to `data.path` of an error that `work` throws. */
export function located<Value>(base: string, work: () => Value): Value {
  try {
    return work()
  } catch (thrown) {
    const error = BulkheadError.from(thrown)
    throw new BulkheadError(error.code, error.message, { cause: error.cause, data: { path: base + pathOf(error) } })
  }
}

export const pathOf = ({ data }: BulkheadError): string =>
  isJsonObject(data) && typeof data['path'] === 'string' ? data['path'] : ''
