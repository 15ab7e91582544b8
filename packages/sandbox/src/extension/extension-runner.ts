import type { AnyRuntime, ExtensionModule, LifecyclePhase, ModuleTool, RuntimePart } from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { CodedError } from '../wire/errors.ts'
import { toPlainJson, type PlainLimits } from '../wire/plain-json.ts'
import type { CallKey, CompartmentMethods, LoadReply, Reverts, Variables } from '../wire/protocol.ts'
import { interaction, LogSender, withPlainArgs, type CallBroker } from './capabilities.ts'
import { RunningCall, runtimeOf } from './runtime.ts'

export interface RunnerOptions {
  readonly module: unknown
  readonly config: JsonObject
  readonly tools: readonly { readonly name: string; readonly powers: readonly RuntimePart[] }[]
  readonly callBroker: CallBroker
  /** Limits on what a tool returns. */
  readonly output: PlainLimits
  /** Limit on each argument of a broker call, and on the description of the tools. */
  readonly messageBytes: number
  /** Absent if no tool has a power with shims. */
  readonly enter?: Enter | undefined
}

/** Runs a call so that the shims find its runtime and variables, also after an `await`. */
export type Enter = <Result>(runtime: AnyRuntime, env: Variables | undefined, work: () => Result) => Result

const NO_POWERS: ReadonlySet<RuntimePart> = new Set()

interface RunnableTool {
  readonly tool: ModuleTool
  readonly runtime: ReturnType<typeof runtimeOf>
}

/** The methods of a compartment after `load`, as promises. */
export type RunnerMethods = {
  readonly [Method in Exclude<keyof CompartmentMethods, 'load'>]:
    (...args: Parameters<CompartmentMethods[Method]>) => Promise<Awaited<ReturnType<CompartmentMethods[Method]>>>
}

/** Runs the phases and tools of one extension, in a compartment or inline. */
export class ExtensionRunner implements RunnerMethods {
  readonly reply: LoadReply
  readonly #module: ExtensionModule
  readonly #tools: ReadonlyMap<string, RunnableTool>
  readonly #options: RunnerOptions
  readonly #callBroker: CallBroker
  readonly #log: LogSender
  /** Short, and searched only for an abort. */
  readonly #running: RunningCall[] = []

  /** Contract: throws ExportsMismatch when the module is not an extension. */
  constructor(options: RunnerOptions) {
    const sent = { ...options.output, maxBytes: options.messageBytes }
    const { module, tools, reply } = describeExtension(options.module, sent)
    this.reply = reply
    this.#module = module
    this.#options = options
    this.#callBroker = withPlainArgs(options.callBroker, sent)
    this.#log = new LogSender(this.#callBroker)
    const powers = new Map(options.tools.map((tool) => [tool.name, new Set(tool.powers)]))
    this.#tools = new Map([...tools].map(([toolName, tool]) => {
      const given = powers.get(toolName) ?? NO_POWERS
      const { config } = options
      const runtime = runtimeOf({ toolName, powers: given, callBroker: this.#callBroker, log: this.#log, config })
      return [toolName, { tool, runtime }]
    }))
  }

  async lifecycle(phase: LifecyclePhase): Promise<void> {
    const mayAsk = phase === 'init' && this.#options.tools.some(({ powers }) => powers.includes('interact'))
    await this.#module[phase]?.(Object.freeze({
      config: this.#options.config,
      log: this.#log.forCall(null),
      ...(mayAsk && { interact: interaction((method, ...args) => this.#callBroker(method, null, ...args)) }),
    }))
  }

  async execute(
    callId: string, name: string, args: JsonObject, env?: Variables | null, reverts?: Reverts | null, key?: CallKey,
  ): Promise<Json> {
    const { tool, runtime: runtimeFor } = this.#tool(name)
    const { enter } = this.#options
    const call = new RunningCall(callId, key)
    this.#running.push(call)
    try {
      const runtime = runtimeFor(call)
      const isRevert = reverts !== undefined && reverts !== null
      if (isRevert && tool.revert === undefined) throw noRevert(name)
      const run = (): unknown => !isRevert
        ? tool.execute(args as never, runtime as never)
        : tool.revert!(args as never, reverts.result as never, runtime as never)
      return this.#plain(await (enter === undefined ? run() : enter(runtime, env ?? undefined, run)))
    } finally {
      if (call.delivered !== undefined) await call.delivered
      this.#running[this.#running.indexOf(call)] = this.#running.at(-1)!
      this.#running.pop()
    }
  }

  async deriveApprovalKey(name: string, args: JsonObject): Promise<Json> {
    const { tool } = this.#tool(name)
    if (tool.deriveApprovalKey === undefined) {
      throw new CodedError('ApprovalKeyDerivationFailed', `The tool ${name} has no deriveApprovalKey.`)
    }
    return this.#plain(await tool.deriveApprovalKey(args as never))
  }

  async migrateState(slotVersion: string, data: Json): Promise<Json> {
    if (this.#module.migrateState === undefined) {
      throw new CodedError('SlotMigrationFailed', 'The extension has no migrateState.')
    }
    return this.#plain(await this.#module.migrateState(Object.freeze({ slotVersion, data })))
  }

  async abort(callId: string, reason: string): Promise<void> {
    this.#running.find((call) => call.callId === callId)?.abort(reason)
  }

  #tool(name: string): RunnableTool {
    const tool = this.#tools.get(name)
    if (tool === undefined) throw new CodedError('ToolNotRegistered', `The extension has no tool ${name}.`)
    return tool
  }

  #plain(returned: unknown): Json {
    const plain = toPlainJson(returned, this.#options.output)
    if (plain.ok) return plain.value
    if (plain.fault === 'malformed') {
      throw new CodedError('OutputMalformed', `The tool returned something that is not JSON. ${plain.message}`)
    }
    const why = `The tool returned too much. ${plain.message} Return less, or write it to a file.`
    throw new CodedError('OutputTooLarge', why, { data: { limit: 'outputBytes' } })
  }
}

const noRevert = (tool: string): CodedError =>
  new CodedError('CapabilityUnavailable', `The tool ${tool} cannot revert its calls any more: it has no revert.`)

const PHASES: readonly LifecyclePhase[] = ['init', 'activate', 'deactivate', 'dispose']

interface DescribedExtension {
  readonly module: ExtensionModule
  readonly tools: ReadonlyMap<string, ModuleTool>
  readonly reply: LoadReply
}

/** Reads a default export as an extension. Contract: throws ExportsMismatch when it is not one. */
function describeExtension(exported: unknown, limits: PlainLimits): DescribedExtension {
  if (!isRecord(exported)) {
    throw mismatch('The default export of the main file is not an object; export defineExtension({ tools: { … } }).')
  }
  if (!isRecord(exported['tools'])) throw mismatch('The default export of the main file has no `tools` object.')
  const tools = new Map<string, ModuleTool>()
  for (const [name, tool] of Object.entries(exported['tools'])) {
    if (!isRecord(tool) || typeof tool['execute'] !== 'function') {
      throw mismatch(`The tool ${name} has no execute function.`)
    }
    tools.set(name, tool as unknown as ModuleTool)
  }
  for (const phase of PHASES) {
    const hook = exported[phase]
    if (hook !== undefined && typeof hook !== 'function') throw mismatch(`The phase ${phase} is not a function.`)
  }
  const migrate = exported['migrateState']
  if (migrate !== undefined && typeof migrate !== 'function') throw mismatch('migrateState is not a function.')
  return {
    module: exported as unknown as ExtensionModule,
    tools,
    reply: {
      tools: [...tools].map(([name, tool]) => ({
        name,
        approvalKey: typeof tool.deriveApprovalKey === 'function',
        ...(typeof tool.revert === 'function' && { revert: true as const }),
        ...declared('input', tool.input, limits),
        ...declared('requires', tool.requires, limits),
      })),
      phases: PHASES.filter((phase) => typeof exported[phase] === 'function'),
    },
  }
}

/** A schema object of a library is not plain data; it is there for its types. */
function declared(key: 'input' | 'requires', value: unknown, limits: PlainLimits): object {
  if (!isRecord(value) || '~standard' in value) return {}
  const plain = toPlainJson(value, limits)
  return plain.ok ? { [key]: plain.value } : {}
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const mismatch = (message: string): CodedError => new CodedError('ExportsMismatch', message)
