import { Ajv2020 } from 'ajv/dist/2020.js'
import {
  BulkheadError, compileGrant, DEFAULT_LIMITS, MANIFEST_LIMITS, requireOptions, type CompartmentLimits,
  type CompartmentServices, type CompartmentSession,
  type ExtensionDescriptor, type LogEntry, type Outcome, type Sandbox, type ToolDefinition, type VariableValues,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { patternEngine, readSchema, schemaCompiler } from '@bulkhead/kit/schema'
import { RE2JS } from 're2js'
import { instrumented, PROBE_TOOL, type Probe } from './instrument.ts'
import type { Recorder } from './recorder.ts'

/** The extension to check, and where to run it. */
export interface ConformanceTarget {
  readonly extension: ExtensionDescriptor
  /** What the loader warned about. */
  readonly warnings?: readonly string[]
  readonly sandbox: Sandbox
  /** The folder that the tools see as the workspace. Its contents may change. */
  readonly workspace: string
  /** Records what tools use; the sandbox has its dry run. Without it, powers are not checked. */
  readonly recorder?: Recorder
  /** Shows ended calls to a client of MCP. Without it, what a client gets is not checked. */
  readonly overMcp?: (calls: readonly EndedCall[]) => Promise<readonly DeliveredCall[]>
  /** Configuration to start it with. It must satisfy the configSchema. */
  readonly config?: JsonObject
  /** Values of the declared variables and secrets, for a run against real services. Default: one fake value for all. */
  readonly values?: Readonly<Record<string, string | undefined>>
}

interface EndedCall {
  readonly tool: ToolDefinition
  readonly outcome: Outcome
}

/** What the client got, or why it rejects the result. */
type DeliveredCall = { readonly structuredContent?: Json; readonly isError: boolean } | { readonly fault: string }

const TARGET: OptionForms<ConformanceTarget> = {
  extension: forms.whole({
    id: forms.text, manifest: forms.whole({ tools: forms.list(forms.object) }), code: forms.object,
  }),
  warnings: forms.list(forms.text), sandbox: forms.having('open'), recorder: forms.having('close'),
  overMcp: forms.method,
  workspace: forms.text, config: forms.object, values: forms.object,
}

/** Throws ConfigInvalid. */
export const requireTarget = (target: ConformanceTarget): void =>
  requireOptions('conform', target, TARGET, 'extension', 'sandbox', 'workspace')

/** The stored state of one extension, which compartments may share. */
export interface StoredValue {
  current: Json
  readonly written: Json[]
}

export const emptyState = (current: Json = null): StoredValue => ({ current, written: [] })

export interface OpenedCompartment {
  readonly session: CompartmentSession
  /** What the code logged. */
  readonly log: readonly LogEntry[]
  readonly state: StoredValue
}

export interface OpenOptions {
  /** Default: the configuration of the target. */
  readonly config?: JsonObject
  readonly limits?: Partial<CompartmentLimits>
  /** Default: an empty one. */
  readonly state?: StoredValue
  /** With a fixed clock and seed, and a tool that counts timers. Not for a module of the host. */
  readonly isInstrumented?: boolean
}

/** A compartment with the powers that the manifest declares, in the workspace of the target. */
export async function openCompartment(
  target: ConformanceTarget,
  { config = target.config ?? {}, limits, state = emptyState(), isInstrumented = false }: OpenOptions = {},
): Promise<OpenedCompartment> {
  const { extension, sandbox, workspace } = target
  const { id, version, layer, code, manifest } = extension
  const log: LogEntry[] = []
  const { env, secrets, stateSlot } = manifest
  const extensionPower = { env, secrets, state: stateSlot === null ? [] : [id] }
  const values = valuesOf(target)
  const services: CompartmentServices = {
    log: (entry) => void log.push(entry),
    env: new Map(env.filter((name) => values.has(name)).map((name) => [name, values.get(name)!])),
    envDeclared: new Set(env),
    secrets: new Map(secrets.filter(({ name }) => values.has(name)).map(({ name, hosts = [], commands = [] }) =>
      [name, { value: values.get(name)!, hosts, commands }])),
    ...(stateSlot !== null && {
      state: {
        read: async () => state.current,
        write: async (data: Json) => {
          state.current = data
          state.written.push(data)
        },
      },
    }),
    interact: async () => ({ status: 'timeout' }),
  }
  const files = code.kind === 'module' ? code
    : { kind: 'files' as const, main: manifest.main, files: await code.readFiles(), origins: code.origins }
  const isProbed = isInstrumented && files.kind === 'files'
  const granted = isProbed ? [...manifest.tools, PROBE] : manifest.tools
  const session = await sandbox.open({
    extension: { id, version, layer },
    placement: code.kind === 'module' ? 'inline' : 'process',
    code: isProbed ? instrumented(files) : files,
    tools: granted.map(({ name, inputSchema, requires }) => ({
      name, inputSchema, requires: requires as JsonObject,
      grant: compileGrant(requires, variablesIn(workspace), extensionPower),
    })),
    config,
    limits: { ...DEFAULT_LIMITS, ...limits },
    services,
  })
  return { session, log, state }
}

const PROBE = { name: PROBE_TOOL, inputSchema: { type: 'object' }, requires: {} } as const

/** What the instruments of a compartment counted so far. */
export const probed = async ({ session }: OpenedCompartment): Promise<Probe> => await session.call({
  callId: `probe-${++probes}`, tool: PROBE_TOOL, args: {}, signal: AbortSignal.timeout(60_000),
}) as unknown as Probe
let probes = 0

/** The folders that patterns refer to. */
export const variablesIn = (workspace: string): VariableValues =>
  ({ 'workspace': [workspace], 'user-data': [`${workspace}/.user-data`] })

const FAKE_VALUE = 'bulkhead-conformance-fake-value-7f3a9c'

/** The values of the declared variables and secrets, by name. */
export function valuesOf({ extension: { manifest }, values }: ConformanceTarget): ReadonlyMap<string, string> {
  const names = [...manifest.env, ...manifest.secrets.map(({ name }) => name)]
  return new Map(names.flatMap((name) => {
    const value = values === undefined ? FAKE_VALUE : values[name]
    return value === undefined ? [] : [[name, value] as const]
  }))
}

/** Opens one, runs its phases up to activate, and closes it after the work. */
export async function inCompartment<Result>(
  target: ConformanceTarget, work: (opened: OpenedCompartment) => Promise<Result>, options?: OpenOptions,
): Promise<Result> {
  const opened = await openCompartment(target, options)
  try {
    await opened.session.lifecycle('init')
    await opened.session.lifecycle('activate')
    return await work(opened)
  } finally {
    await opened.session.close()
  }
}

const patterns = patternEngine(RE2JS, MANIFEST_LIMITS.patternChars)
const compile = schemaCompiler(Ajv2020, patterns)

/** Why a pattern is not enforced. */
export const patternFault = (source: string): string | undefined => patterns.findFault(source)

/** Why a value does not satisfy the schema, or undefined. The loader has accepted the schema. */
export function validatorOf(schema: JsonObject): (value: Json) => string | undefined {
  const reading = readSchema(schema)
  if (!reading.ok) throw new BulkheadError('ConfigSchemaInvalid', 'The schema cannot be read.')
  const { check } = compile(reading.document)
  return (value) => {
    const fault = check(value)
    return fault && `${fault.path === '' ? 'it' : fault.path} ${fault.message}`
  }
}

/** Whether a value satisfies the schema. */
export function acceptsOf(schema: JsonObject): (value: Json) => boolean {
  const check = validatorOf(schema)
  return (value) => check(value) === undefined
}
