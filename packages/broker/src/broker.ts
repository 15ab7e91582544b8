import type { CallEffect, CompartmentLimits, BrokerMethod, CapabilityName, CompartmentRequest, RuntimePart } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import { BROKER_METHODS, BulkheadError, EffectsLedger } from '@bulkhead/contract'
import { powersOf } from './model/powers.ts'
import type { Capabilities, CapabilityUnit, OpenCall } from './model/capability.ts'
import { Denial, requireUnderCeilings } from './model/denial.ts'
import { envCapability } from './env.ts'
import { fsCapability } from './fs/fs.ts'
import { askPerson, interactCapability } from './interact.ts'
import { logCapability } from './log.ts'
import { netCapability } from './net/net.ts'
import { progressCapability } from './progress.ts'
import { secretsCapability } from './secrets/secrets.ts'
import type { UsedSecrets } from './secrets/vault.ts'
import { sessionCapability } from './session.ts'
import { shellCapability } from './shell/shell.ts'
import type { MissingSandboxReporter } from './shell/command-sandbox.ts'
import type { OperatorEnvironment } from './shell/command-environment.ts'
import { stateCapability } from './state.ts'
import { toolsCapability } from './tools.ts'
import { updateCapability } from './update.ts'

export type BrokerMethods = Readonly<Record<BrokerMethod, (callId: unknown, ...args: readonly Json[]) => Promise<Json>>>

export interface BrokerOptions {
  readonly operator?: OperatorEnvironment | undefined
  readonly kept?: readonly string[] | undefined
  /** Folders with the host's code. */
  readonly ownCode?: readonly string[] | undefined
  readonly projectLayer?: string | undefined
  /** Shared by all compartments of a sandbox. */
  readonly usedSecrets?: UsedSecrets | undefined
  /** Reports that commands run without a sandbox. */
  readonly walls?: MissingSandboxReporter | undefined
  /** No command runs where none works. */
  readonly requiresSandbox?: boolean | undefined
}

/** What of a compartment its broker must know. */
export type BrokerRequest = Pick<CompartmentRequest, 'tools' | 'services' | 'limits'> & Partial<Pick<CompartmentRequest, 'extension' | 'code'>>

/** The phase `init` under way. */
export interface OpenInit {
  readonly signal: AbortSignal
  /** Stops its time. Returns what lets it go on. */
  pause(): () => void
}

/** The parts of `runtime` that the grant lists by name. */
const NAMED: Partial<Record<RuntimePart, CapabilityName>> = { interact: 'interact', tools: 'tools.call', session: 'session' }

/**
 * The only authority over what a compartment does outside itself. Every capability call names the tool call it belongs
 * to, and is judged by the grant of that call's tool, for as long as that call runs.
 */
export class Broker {
  /** What is exposed to the compartment. It has no prototype: a name is one of the table or nothing. */
  readonly methods: BrokerMethods
  readonly #powers: ReadonlyMap<string, ReadonlySet<RuntimePart>>
  readonly #capabilities: Capabilities
  readonly #limits: CompartmentLimits
  /** Those that hold something open, and let go of it when their call or the compartment ends. */
  readonly #units: readonly CapabilityUnit[]
  /** Whether nobody but the caller of its tools can do something about a refusal. */
  readonly #isOurs: boolean
  readonly #log: (callId: string | null, args: readonly Json[]) => void
  /** A list, which is short: few calls ask for anything, and to find each by a text would cost all of them. */
  readonly #calls: OpenCall[] = []
  readonly #askInInit: (phase: OpenInit, args: readonly Json[]) => Promise<Json>
  /** Set while the phase `init` runs. */
  #init: OpenInit | undefined

  constructor(
    { tools, services, limits, extension, code }: BrokerRequest, workspace: string,
    { operator, kept, ownCode = [], projectLayer, usedSecrets, walls, requiresSandbox }: BrokerOptions = {},
  ) {
    // In a home folder the layer of the project is the host's own home, where tools have their data.
    const layer = projectLayer === undefined || kept?.includes(projectLayer) ? [] : [projectLayer]
    const folders = { kept, neverWritten: [...layer, ...ownCode] }
    this.#powers = new Map(tools.map((tool) => [tool.name, powersOf(tool, services)]))
    this.#isOurs = extension?.layer === 'bundled' || code?.kind === 'module'
    this.#limits = limits
    this.#log = logCapability(services, limits.logBytes)
    const anyHas = (power: RuntimePart) => this.#powers.values().some((powers) => powers.has(power))
    const secrets = anyHas('secrets') && services.secrets !== undefined ? secretsCapability(services.secrets, usedSecrets?.of(extension?.id ?? '')) : undefined
    this.#units = [
      ...(anyHas('fs.read') || anyHas('fs.write') ? [fsCapability(workspace, { ...folders, lentFiles: services.lentFiles })] : []),
      ...(secrets !== undefined ? [secrets] : []),
      ...(anyHas('net') ? [netCapability({ secrets })] : []),
      ...(anyHas('shell') ? [shellCapability({ workspace, tools, secrets, isOurs: extension?.layer === 'bundled' && code?.kind === 'module', operator, projectLayer, walls, requiresSandbox, ...folders })] : []),
    ]
    this.#capabilities = {
      ...Object.assign({}, ...this.#units.map((unit) => unit.capabilities)) as Capabilities,
      ...envCapability(services),
      ...stateCapability(services),
      ...interactCapability(services),
      ...toolsCapability(services),
      ...sessionCapability(services),
      ...progressCapability(),
      ...updateCapability(),
    }
    const mayAsk = anyHas('interact')
    this.#askInInit = async (phase, [request]) => {
      if (!mayAsk) {
        throw new BulkheadError('CapabilityDenied', 'init asked a person, and no tool of the extension declares `interact`.')
      }
      const resume = phase.pause()
      try {
        return await askPerson(services, { callId: null, signal: phase.signal, turn: phase }, request)
      } finally {
        resume()
      }
    }
    const names = Object.keys(BROKER_METHODS) as BrokerMethod[]
    this.methods = Object.assign(Object.create(null) as object, Object.fromEntries(names.map((method) =>
      [method, (callId: unknown, ...args: readonly Json[]) => this.#answer(method, callId, args)]))) as BrokerMethods
  }

  /** The grant of a tool call holds from here until it is ended. */
  open(call: OpenCall): void {
    this.#calls.push(call)
  }

  /** Idempotent. */
  end(call: OpenCall): void {
    const place = this.#calls.indexOf(call)
    if (place < 0) return
    this.#calls[place] = this.#calls.at(-1)!
    this.#calls.pop()
    for (const unit of this.#units) unit.endCall(call.callId)
  }

  /** The one power of a phase: `init` may ask a person, from here until what is returned is called. */
  openInit(phase: OpenInit): () => void {
    this.#init = phase
    return () => {
      if (this.#init === phase) this.#init = undefined
    }
  }

  /** Idempotent. Resolves when nothing is left of what any call had opened. */
  async close(): Promise<void> {
    await Promise.all(this.#units.map((unit) => unit.close()))
  }

  async #answer(method: BrokerMethod, callId: unknown, args: readonly Json[]): Promise<Json> {
    try {
      if (method === 'log') return this.#takeLog(callId, args)
      if (method === 'interact' && callId === null && this.#init) return await this.#askInInit(this.#init, args)
      const call = this.#call(callId)
      if (call === undefined) {
        throw new BulkheadError(
          'CapabilityDenied',
          `${method} was called outside a tool call. A tool has its powers while its call runs.`,
        )
      }
      if (call.signal.aborted) throw BulkheadError.from(call.signal.reason, 'ToolCancelled')
      const power = BROKER_METHODS[method]
      if (power !== null && this.#powers.get(call.tool.name)?.has(power) !== true) {
        throw new BulkheadError(
          'CapabilityDenied',
          `The tool ${call.tool.name} called ${method} without declaring ${power}. Declare it in \`requires\`.`,
          { data: { power } },
        )
      }
      const named = power === null ? undefined : NAMED[power]
      if (named !== undefined) requireUnderCeilings(call.tool, named, `use ${named}`, ({ capabilities }) => capabilities.includes(named))
      const capability = this.#capabilities[method]
      if (capability === undefined) {
        throw new BulkheadError('CapabilityUnavailable', `${method} cannot be enforced by this sandbox, so it is not given.`)
      }
      call.effects ??= new EffectsLedger<CallEffect>(this.#limits)
      return await capability(call, args)
    } catch (error) {
      throw publicError(this.#isOurs && error instanceof Denial ? error.toCaller() : error)
    }
  }

  #takeLog(callId: unknown, args: readonly Json[]): null {
    this.#log(this.#call(callId)?.callId ?? null, args)
    return null
  }

  #call(callId: unknown): OpenCall | undefined {
    return this.#calls.find((call) => call.callId === callId)
  }
}

/** The error as a compartment may see it: message, code and data, never causes or stack traces of the host. */
export function publicError(error: unknown): BulkheadError {
  const { code, message, data } = BulkheadError.is(error)
    ? error
    : new BulkheadError('InternalError', 'The broker failed while answering.')
  const answer = new BulkheadError(code, message, data === undefined ? {} : { data })
  delete answer.stack
  return answer
}
