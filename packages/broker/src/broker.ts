import { createRequire } from 'node:module'
import { basename } from 'node:path'
import {
  BROKER_METHODS, BulkheadError, type BrokerMethod, type CapabilityName, type CompartmentLimits,
  type CompartmentRequest, type CompartmentServices, type DryRun, type RuntimePart,
} from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { HostFolders } from './fs/file-scope.ts'
import { fsCapability } from './fs/fs.ts'
import { findRipgrep } from './fs/search/ripgrep.ts'
import {
  Denial, EffectCounter, powersOf, requireUnderCeilings, type Capabilities, type CapabilityUnit, type OpenCall,
} from './model/capability.ts'
import { netCapability } from './net/net.ts'
import { secretsCapability } from './secrets/secrets.ts'
import type { UsedSecrets } from './secrets/vault.ts'
import { askPerson, logCapability, serviceCapabilities, variablesOf } from './services.ts'
import type { OperatorEnvironment } from './shell/command-environment.ts'
import type { MissingSandboxReporter } from './shell/command-sandbox.ts'
import { shellCapability } from './shell/shell.ts'
import { stepCapability } from './steps.ts'
import { measured, reported, usesOf, type UseListener } from './uses.ts'
import type { SpareLauncher } from './walls/launcher.ts'

export type BrokerMethods = Readonly<Record<BrokerMethod, (callId: unknown, ...args: readonly Json[]) => Promise<Json>>>

export interface BrokerOptions {
  readonly operator?: OperatorEnvironment | undefined
  /** Folders of the host. No pattern covers them unless it begins there. */
  readonly reserved?: readonly string[] | undefined
  /** Folders with the code of the host, which no tool writes. */
  readonly ownCode?: readonly string[] | undefined
  readonly projectLayer?: string | undefined
  /** The files of the store, which no tool and no command writes. */
  readonly storeFiles?: readonly string[] | undefined
  /** Shared by all compartments of a sandbox. */
  readonly usedSecrets?: UsedSecrets | undefined
  /** Reports that commands run without an OS sandbox. */
  readonly missingSandbox?: MissingSandboxReporter | undefined
  /** Commands run only where an OS sandbox works. */
  readonly requiresSandbox?: boolean | undefined
  /** Where changes of several files are noted until they are complete. Absent: a kill may leave only some of them. */
  readonly journal?: string | undefined
  /** Starts commands where bubblewrap does not work. Shared by all compartments of a sandbox. */
  readonly spares?: SpareLauncher | undefined
  readonly dryRun?: DryRun | undefined
  /** Called after each use of a power, unless there is a dry run, which records them. */
  readonly onUse?: UseListener | undefined
}

export type BrokerRequest =
  Pick<CompartmentRequest, 'tools' | 'services' | 'limits'> & Partial<Pick<CompartmentRequest, 'extension' | 'code'>>

/** The running `init` phase. */
export interface OpenInit {
  readonly signal: AbortSignal
  /** Stops its clock. Call the returned function to resume it. */
  pause(): () => void
}

/** Parts of `runtime` that a grant lists as capabilities. */
const NAMED: Partial<Record<RuntimePart, CapabilityName>> = {
  interact: 'interact', tools: 'tools.call', session: 'session',
}

/**
 * The only authority over what a compartment does outside itself. Each request names its tool call and is checked
 * against the grant of that call's tool, as long as the call runs.
 */
export class Broker {
  /** What the compartment can call. It has no prototype, so that only names of the table resolve. */
  readonly methods: BrokerMethods
  readonly #powers: ReadonlyMap<string, ReadonlySet<RuntimePart>>
  readonly #capabilities: Capabilities
  readonly #limits: CompartmentLimits
  readonly #services: CompartmentServices
  /** Capabilities with resources to release when a call or the compartment ends. */
  readonly #units: readonly CapabilityUnit[]
  /** A bundled extension. Its denials address the caller, who can act on them, and not an author. */
  readonly #isBundled: boolean
  readonly #log: (callId: string | null, args: readonly Json[]) => void
  /** A list, because it is short. A map would cost every call, and few calls use a capability. */
  readonly #calls: OpenCall[] = []
  readonly #onUse: UseListener | undefined
  readonly #askInInit: (phase: OpenInit, args: readonly Json[]) => Promise<Json>
  /** Set while `init` runs. */
  #init: OpenInit | undefined

  constructor(
    { tools, services, limits, extension, code }: BrokerRequest, workspace: string,
    options: BrokerOptions = {},
  ) {
    const { operator, projectLayer, usedSecrets, missingSandbox, spares } = options
    const { requiresSandbox, journal, dryRun, onUse } = options
    const folders = foldersOf(options)
    this.#powers = new Map(tools.map((tool) => [tool.name, powersOf(tool, services)]))
    this.#isBundled = extension?.layer === 'bundled' || code?.kind === 'module'
    this.#limits = limits
    this.#services = services
    this.#onUse = dryRun === undefined ? onUse : (use) => dryRun.used(use)
    this.#log = logCapability(services, limits.logBytes)
    const anyHas = (power: RuntimePart) => this.#powers.values().some((powers) => powers.has(power))
    // Pins the ripgrep binary before a tool can replace it. Its digest takes 20 ms.
    if (anyHas('fs.write') || anyHas('shell')) findRipgrep().catch(() => undefined)
    const secrets = anyHas('secrets') && services.secrets !== undefined
      ? secretsCapability(services.secrets, usedSecrets?.of(extension?.id ?? '')) : undefined
    this.#units = [
      ...(anyHas('fs.read') || anyHas('fs.write')
        ? [fsCapability(workspace, {
          ...folders, journal, extraFiles: services.lentFiles, clientOf: services.client, changes: services.changes,
          undo: services.undo, wholeOutput: services.wholeOutput,
        })] : []),
      ...(secrets !== undefined ? [secrets] : []),
      ...(anyHas('net') ? [netCapability({ secrets, answeredBy: dryRun?.port })] : []),
      ...(anyHas('shell') ? [shellCapability({
        workspace, tools, secrets, operator, projectLayer, missingSandbox, requiresSandbox, spares, ...folders,
        concurrentCommands: limits.concurrentCommands, clientOf: services.client,
        answeredBy: dryRun && ((cmd, args) => dryRun.command?.(cmd, args)),
        changes: services.changes, journal, wholeOutput: services.wholeOutput,
        isBundled: extension?.layer === 'bundled' && code?.kind === 'module', choosesWalls: code?.kind === 'module',
      })] : []),
    ]
    this.#capabilities = {
      ...Object.assign({}, ...this.#units.map((unit) => unit.capabilities)) as Capabilities,
      ...serviceCapabilities(services),
      ...stepCapability,
    }
    const mayAsk = anyHas('interact')
    this.#askInInit = async (phase, [request]) => {
      if (!mayAsk) {
        throw new BulkheadError(
          'CapabilityDenied',
          'init asked a question, but no tool of the extension declares `interact`.',
        )
      }
      for (const [tool, powers] of this.#powers) {
        if (powers.has('interact')) this.#onUse?.({ tool, part: 'interact', subject: 'init' })
      }
      const resume = phase.pause()
      try {
        return await askPerson(services, { callId: null, signal: phase.signal, key: phase }, request)
      } finally {
        resume()
      }
    }
    const names = Object.keys(BROKER_METHODS) as BrokerMethod[]
    this.methods = Object.assign(Object.create(null) as object, Object.fromEntries(names.map((method) =>
      [method, (callId: unknown, ...args: readonly Json[]) => this.#answer(method, callId, args)]))) as BrokerMethods
  }

  /** The grant of a tool call is valid from here until `end`. */
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

  /** The variables that a call may read. */
  variables(call: OpenCall): Readonly<Record<string, string>> {
    return variablesOf(this.#services, call.tool)
  }

  /** Lets `init` ask a person until the returned function is called. It has no other power. */
  openInit(phase: OpenInit): () => void {
    this.#init = phase
    return () => {
      if (this.#init === phase) this.#init = undefined
    }
  }

  /** Idempotent. Resolves when everything that calls opened is released. */
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
          `${method} was called outside a tool call. A tool has its powers only while its call runs.`,
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
      if (named !== undefined) {
        requireUnderCeilings(call.tool, named, `use ${named}`, ({ capabilities }) => capabilities.includes(named))
      }
      const capability = this.#capabilities[method]
      if (capability === undefined) {
        throw new BulkheadError(
          'CapabilityUnavailable',
          `${method} is unavailable because this sandbox cannot enforce it.`,
        )
      }
      call.effects ??= new EffectCounter(this.#limits, call)
      const listener = call.onUse
      if (power === null || (this.#onUse === undefined && listener === undefined)) return await capability(call, args)
      const uses = usesOf(call.tool.name, method, power, args)
      const run = listener === undefined ? () => capability(call, args)
        : () => measured(listener, uses, call, () => capability(call, args))
      return await (this.#onUse === undefined ? run() : reported(this.#onUse, uses, run))
    } catch (error) {
      throw publicError(this.#isBundled && error instanceof Denial ? error.toCaller() : error)
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

/** The folders of the host, as file scopes see them. */
export function foldersOf({ reserved, ownCode = [], projectLayer, storeFiles = [] }: BrokerOptions): HostFolders {
  // In the home folder, the project layer is the home of the host, where tools keep data.
  const layer = projectLayer === undefined || reserved?.includes(projectLayer) ? [] : [projectLayer]
  const readOnly = [...layer, ...ownCode, ...storeFiles]
  return { reserved, readOnly, storeFiles, layerName: projectLayer && basename(projectLayer) }
}

/** An error as a compartment may see it: code, message and data, without cause and stack trace. */
export function publicError(error: unknown): BulkheadError {
  const { code, message, data } = BulkheadError.is(error)
    ? error
    : new BulkheadError('InternalError', 'The broker failed to answer the request.')
  const answer = new BulkheadError(code, message, data === undefined ? {} : { data })
  delete answer.stack
  return answer
}

/** undici loads one of these with the first connection, depending on the CPU. */
const PARSERS = ['undici/lib/llhttp/llhttp-wasm.js', 'undici/lib/llhttp/llhttp_simd-wasm.js']
const load = createRequire(import.meta.url)

/** Loads what requests of tools would load later, before a tool could replace it on disk. One promise per part. */
export const preloadCode = (): readonly Promise<unknown>[] =>
  [findRipgrep(), import('undici'), ...PARSERS.map(async (parser) => { load(parser) })]
