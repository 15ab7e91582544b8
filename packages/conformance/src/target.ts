import { Ajv2020 } from 'ajv/dist/2020.js'
import {
  BulkheadError, compileGrant, DEFAULT_LIMITS, requireOptions, type CompartmentServices, type CompartmentSession,
  type ExtensionDescriptor, type LogEntry, type Sandbox, type VariableValues,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import { patternEngine, readSchema, schemaCompiler } from '@bulkhead/kit/schema'
import { RE2JS } from 're2js'
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
  /** Configuration to start it with. It must satisfy the configSchema. */
  readonly config?: JsonObject
  /** Values of the declared variables and secrets, for a run against real services. Default: one fake value for all. */
  readonly values?: Readonly<Record<string, string | undefined>>
}

const TARGET: OptionForms<ConformanceTarget> = {
  extension: forms.whole({
    id: forms.text, manifest: forms.whole({ tools: forms.list(forms.object) }), code: forms.object,
  }),
  warnings: forms.list(forms.text), sandbox: forms.having('open'), recorder: forms.having('close'),
  workspace: forms.text, config: forms.object, values: forms.object,
}

/** Throws ConfigInvalid. */
export const requireTarget = (target: ConformanceTarget): void =>
  requireOptions('conform', target, TARGET, 'extension', 'sandbox', 'workspace')

/** What the code of one compartment logged. */
export type Log = readonly LogEntry[]

export interface OpenedCompartment {
  readonly session: CompartmentSession
  readonly log: Log
}

/** A compartment with the powers that the manifest declares, in the workspace of the target. */
export async function openCompartment(
  target: ConformanceTarget, config = target.config ?? {},
): Promise<OpenedCompartment> {
  const { extension, sandbox, workspace } = target
  const { id, version, layer, code, manifest } = extension
  const log: LogEntry[] = []
  const { env, secrets, stateSlot } = manifest
  const extensionPower = { env, secrets, state: stateSlot === null ? [] : [id] }
  let state: Json = null
  const values = valuesOf(target)
  const services: CompartmentServices = {
    log: (entry) => void log.push(entry),
    env: new Map(env.filter((name) => values.has(name)).map((name) => [name, values.get(name)!])),
    envDeclared: new Set(env),
    secrets: new Map(secrets.filter(({ name }) => values.has(name)).map(({ name, hosts = [], commands = [] }) =>
      [name, { value: values.get(name)!, hosts, commands }])),
    ...(stateSlot !== null && {
      state: {
        read: async () => state,
        write: async (data: Json) => {
          state = data
        },
      },
    }),
    interact: async () => ({ status: 'timeout' }),
  }
  const session = await sandbox.open({
    extension: { id, version, layer },
    placement: code.kind === 'module' ? 'inline' : 'process',
    code: code.kind === 'module' ? code : { kind: 'files', main: manifest.main, files: await code.readFiles() },
    tools: manifest.tools.map(({ name, inputSchema, requires }) => ({
      name, inputSchema, requires: requires as JsonObject,
      grant: compileGrant(requires, variablesIn(workspace), extensionPower),
    })),
    config,
    limits: DEFAULT_LIMITS,
    services,
  })
  return { session, log }
}

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
  target: ConformanceTarget, work: (opened: OpenedCompartment) => Promise<Result>,
): Promise<Result> {
  const opened = await openCompartment(target)
  try {
    await opened.session.lifecycle('init')
    await opened.session.lifecycle('activate')
    return await work(opened)
  } finally {
    await opened.session.close()
  }
}

const compile = schemaCompiler(Ajv2020, patternEngine(RE2JS))

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
