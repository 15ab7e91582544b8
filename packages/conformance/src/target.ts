import {
  DEFAULT_LIMITS, requireOptions, type CompartmentLimits, type CompartmentServices,
  type CompartmentSession, type ExtensionDescriptor, type LifecyclePhase, type LogEntry, type Outcome,
  type RequirementSet, type Sandbox, type ToolDefinition, type ToolManifest, type VariableValues,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { forms, type OptionForms } from '@bulkhead/kit/options'
import type { Fixtures } from './fixtures.ts'
import { instrumented, PROBE_TOOL, type Probe } from './instrument.ts'
import type { Patience } from './patience.ts'
import type { Recorder } from './recorder.ts'
import { answerOf, callIdOf, callTool, grantOf, sessionMemory, type CallableExtension } from './services.ts'

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
  /** What the publisher gives the tools. The recorder has the same. */
  readonly fixtures?: Fixtures
  /** An extension of the host that offers this tool, for tools that call others. */
  readonly findTool?: (name: string) => CallableExtension | undefined
  /**
   * Values of the declared variables and secrets, for a run against real services. Default: those of the fixtures, and
   * one fake value for all others.
   */
  readonly values?: Readonly<Record<string, string | undefined>>
}

/** A target while it is checked. */
export interface RunTarget extends ConformanceTarget {
  readonly patience: Patience
  /** Compartments of extensions that tools called, by id. They are closed after the run. */
  readonly called: Map<string, Promise<OpenedCompartment>>
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
  overMcp: forms.method, fixtures: forms.object, findTool: forms.method,
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
  readonly patience: Patience
}

export interface OpenOptions {
  /** Default: the configuration of the target. */
  readonly config?: JsonObject
  readonly limits?: Partial<CompartmentLimits>
  /** Default: an empty one. */
  readonly state?: StoredValue
  /** Powers that each tool gets besides its own. */
  readonly also?: RequirementSet
  /** With a fixed clock and seed, and a tool that counts timers. Not for a module of the host. */
  readonly isInstrumented?: boolean
}

/** A compartment with the powers that the manifest declares, in the workspace of the target. Rejects with OutOfTime. */
export async function openCompartment(
  target: RunTarget,
  { config = target.config ?? {}, limits, state = emptyState(), also, isInstrumented = false }: OpenOptions = {},
): Promise<OpenedCompartment> {
  const { extension, sandbox, workspace, patience } = target
  patience.require()
  const { id, version, layer, code, manifest } = extension
  const log: LogEntry[] = []
  const files = code.kind === 'module' ? code
    : { kind: 'files' as const, main: manifest.main, files: await code.readFiles(), origins: code.origins }
  const isProbed = isInstrumented && files.kind === 'files'
  const granted = isProbed ? [...manifest.tools, PROBE] : manifest.tools
  const session: CompartmentSession = await patience.watch('the start', () => sandbox.open({
    extension: { id, version, layer },
    placement: code.kind === 'module' ? 'inline' : 'process',
    code: isProbed ? instrumented(files) : files,
    tools: granted.map((tool) => ({
      name: tool.name, inputSchema: tool.inputSchema, requires: tool.requires as JsonObject,
      grant: grantOf(also ? { requires: joined(tool.requires, also) } : tool, extension, variablesIn(workspace)),
    })),
    config,
    limits: { ...DEFAULT_LIMITS, ...limits },
    services: servicesOf(target, { log, state, session: () => session }),
  }))
  return { session, log, state, patience }
}

/** What either of both allows. */
const joined = (one: RequirementSet, other: RequirementSet): RequirementSet => ({
  fs: {
    read: [...one.fs?.read ?? [], ...other.fs?.read ?? []], write: [...one.fs?.write ?? [], ...other.fs?.write ?? []],
  },
  net: { hosts: [...one.net?.hosts ?? [], ...other.net?.hosts ?? []] },
  shell: [...one.shell ?? [], ...other.shell ?? []],
  capabilities: [...one.capabilities ?? [], ...other.capabilities ?? []],
})

async function startOther(target: RunTarget): Promise<OpenedCompartment> {
  const opened = await openCompartment(target, { config: {} })
  await runPhase(opened, 'init')
  await runPhase(opened, 'activate')
  return opened
}

interface ServiceParts {
  readonly log: LogEntry[]
  readonly state: StoredValue
  readonly session: () => CompartmentSession
}

/** What a host gives to a compartment. A question to a person, another tool and a session are answered here. */
function servicesOf(target: RunTarget, { log, state, session }: ServiceParts): CompartmentServices {
  const { extension, workspace, fixtures, findTool = () => undefined, called } = target
  const { env, secrets, stateSlot } = extension.manifest
  const values = valuesOf(target)
  return {
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
    session: sessionMemory(),
    interact: async (_callId, request) => answerOf(request, fixtures?.answers ?? new Map()),
    callTool: (callId, name, args, signal) => callTool(name, args, signal, {
      callId, own: extension, find: findTool,
      answers: fixtures?.tools ?? new Map(), power: (tool, other) => grantOf(tool, other, variablesIn(workspace)),
      sessionOf: async (other) => {
        if (other === extension) return session()
        const opened = called.get(other.id) ?? startOther({ ...target, extension: other as ExtensionDescriptor })
        called.set(other.id, opened)
        return (await opened).session
      },
    }),
  }
}

const PROBE: Pick<ToolManifest, 'name' | 'inputSchema' | 'requires'> =
  { name: PROBE_TOOL, inputSchema: { type: 'object' }, requires: {} }

/** The most time for a question to the code that is not a call: each takes milliseconds. */
const QUESTION_MS = 20_000

/** Asks the code of an extension something beside its calls. Rejects with OutOfTime. */
export const asked = <Value>(
  { patience }: Pick<OpenedCompartment, 'patience'>, what: string, work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> => patience.wait(what, QUESTION_MS, work)

/** What the instruments of a compartment counted so far. */
export const probed = async (opened: OpenedCompartment): Promise<Probe> =>
  await asked(opened, 'the compartment', (signal) => opened.session.call({
    callId: callIdOf(PROBE_TOOL, ++probes), tool: PROBE_TOOL, args: {}, signal,
  })) as unknown as Probe
let probes = 0

/** The folders that patterns refer to. */
export const variablesIn = (workspace: string): VariableValues =>
  ({ 'workspace': [workspace], 'user-data': [`${workspace}/.user-data`] })

const FAKE_VALUE = 'bulkhead-conformance-fake-value-7f3a9c'

/** The values of the declared variables and secrets, by name. */
export function valuesOf(
  { extension: { manifest }, values, fixtures }: Pick<ConformanceTarget, 'extension' | 'values' | 'fixtures'>,
): ReadonlyMap<string, string> {
  const names = [...manifest.env, ...manifest.secrets.map(({ name }) => name)]
  return new Map(names.flatMap((name) => {
    const value = values === undefined ? fixtures?.secrets.get(name) ?? FAKE_VALUE : values[name]
    return value === undefined ? [] : [[name, value] as const]
  }))
}

export const runPhase = ({ session, patience }: OpenedCompartment, phase: LifecyclePhase): Promise<void> =>
  patience.watch(phase, () => session.lifecycle(phase))

/** Opens one, runs its phases up to activate, and closes it after the work. */
export async function inCompartment<Result>(
  target: RunTarget, work: (opened: OpenedCompartment) => Promise<Result>, options?: OpenOptions,
): Promise<Result> {
  const opened = await openCompartment(target, options)
  try {
    await runPhase(opened, 'init')
    await runPhase(opened, 'activate')
    return await work(opened)
  } finally {
    await opened.session.close()
  }
}
