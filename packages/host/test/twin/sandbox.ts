import {
  BulkheadError, isErrorCode, type CommandWalls, type CompartmentEnd, type CompartmentRequest, type CompartmentSession,
  type ExtensionModule, type Interact, type LifecyclePhase, type Placement, type Sandbox, type StoredState,
  type ToolInvocation,
} from '@bulkhead/contract'
import { messageOf } from '@bulkhead/kit/error-message'
import type { Json, JsonObject } from '@bulkhead/kit/json'

type LooseTool = { execute(args: JsonObject, runtime: object): unknown; deriveApprovalKey?(args: JsonObject): unknown }

/** The Sandbox port without a boundary: modules run in this thread, and settle, crash and close like a compartment. */
export class TwinSandbox implements Sandbox {
  readonly requests: CompartmentRequest[] = []
  readonly compartments: TwinCompartment[] = []
  readonly #modules: Map<string, ExtensionModule>
  /** Called before each start; may reject or wait. */
  beforeOpen: (request: CompartmentRequest) => Promise<void> | void = () => {}
  commandWalls?: () => Promise<CommandWalls>

  constructor(modules: Map<string, ExtensionModule>) {
    this.#modules = modules
  }

  /** Adds code later, such as another version. */
  add(key: string, module: ExtensionModule): void {
    this.#modules.set(key, module)
  }

  async open(request: CompartmentRequest): Promise<CompartmentSession> {
    this.requests.push(request)
    const aborted = new Promise<never>(
      (_, reject) => request.signal?.addEventListener('abort', () => reject(request.signal!.reason), { once: true }),
    )
    await Promise.race([this.beforeOpen(request), aborted])
    const { layer, id, version } = request.extension
    const module = request.code.kind === 'module' ? request.code.module : this.#modules.get(`${layer}/${id}/${version}`)
    if (!module) throw new BulkheadError('CompartmentStartFailed', `There is no code for "${id}".`)
    const compartment = new TwinCompartment(request, module)
    this.compartments.push(compartment)
    return compartment
  }

  get alive(): readonly TwinCompartment[] {
    return this.compartments.filter(({ isOver }) => !isOver)
  }

  async close(): Promise<void> {
    await Promise.all(this.compartments.map((compartment) => compartment.close()))
  }
}

export class TwinCompartment implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly request: CompartmentRequest
  readonly ended: Promise<CompartmentEnd>
  readonly calls: ToolInvocation[] = []
  readonly phases: LifecyclePhase[] = []
  readonly #module: ExtensionModule
  readonly #end: (end: CompartmentEnd) => void
  readonly #open = new Set<(reason: BulkheadError) => void>()
  #over: BulkheadError | undefined
  #crashed = false

  constructor(request: CompartmentRequest, module: ExtensionModule) {
    const { promise, resolve } = Promise.withResolvers<CompartmentEnd>()
    this.id = request.extension.id
    this.placement = request.placement
    this.request = request
    this.ended = promise
    this.#end = resolve
    this.#module = module
    const names = Object.entries(module.tools)
    this.offers = {
      phases: new Set(
        (['init', 'activate', 'deactivate', 'dispose'] as const).filter((phase) => module[phase] !== undefined),
      ),
      approvalKeys: new Set(names.filter(([, tool]) => tool.deriveApprovalKey !== undefined).map(([name]) => name)),
    }
  }

  get isOver(): boolean {
    return this.#over !== undefined
  }

  /** Set by a test that simulates a cancelled call that still runs. */
  quiet: Promise<void> | undefined

  get inFlight(): number {
    return this.#open.size
  }

  lifecycle(phase: LifecyclePhase): Promise<void> {
    this.phases.push(phase)
    const { config, services } = this.request
    const log = (level: 'debug' | 'info' | 'warn' | 'error') => (text: string) =>
      services.log({ level, text, callId: undefined })
    const password = async (prompt: string) => {
      const response = await services.interact!(null, { kind: 'Auth.Password', prompt }, new AbortController().signal)
      if (response.status !== 'accepted') throw new Error(`no answer: ${response.status}`)
      return String(response.value)
    }
    // Only the question that the tests use.
    const asking = phase === 'init' && services.interact ? { interact: { password } as unknown as Interact } : {}
    const context = {
      config, ...asking, log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
    }
    return this.#settle(async () => this.#module[phase]?.(context), undefined, 'LifecycleFailure')
  }

  call(invocation: ToolInvocation): Promise<Json> {
    this.calls.push(invocation)
    const tool = this.#module.tools[invocation.tool] as LooseTool
    return this.#settle(async () => {
      const args = JSON.parse(JSON.stringify(invocation.args)) as JsonObject
      const returned = await tool.execute(args, this.#runtime(invocation))
      return JSON.parse(JSON.stringify(returned ?? null)) as Json
    }, invocation.signal, 'ToolExecutionFailed')
  }

  deriveApprovalKey(name: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    const tool = this.#module.tools[name] as LooseTool
    return this.#settle(async () => await tool.deriveApprovalKey!(args) as string, signal, 'ToolExecutionFailed')
  }

  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#settle(async () => {
      if (!this.#module.migrateState)
        throw new BulkheadError('SlotMigrationFailed', 'The extension has no migrateState.')
      return await this.#module.migrateState(stored) as unknown as Json
    }, signal, 'SlotMigrationFailed')
  }

  crash(error = new BulkheadError('CompartmentCrashed', `The compartment of "${this.id}" crashed.`)): void {
    this.#finish(error, { kind: 'failed', error })
  }

  async close(reason?: BulkheadError): Promise<void> {
    this.#finish(reason ?? new BulkheadError('CompartmentKilled', `The compartment of "${this.id}" was closed.`), {
      kind: 'closed',
    })
  }

  #finish(reason: BulkheadError, end: CompartmentEnd): void {
    if (this.#over) return
    this.#over = reason
    this.#crashed = end.kind === 'failed'
    for (const reject of this.#open) reject(reason)
    this.#open.clear()
    this.#end(end)
  }

  #settle<Value>(work: () => Promise<Value>, signal: AbortSignal | undefined, code: Thrown): Promise<Value> {
    if (this.#over) return Promise.reject(this.#crashed && code !== 'LifecycleFailure' ? gone(this.#over) : this.#over)
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const abort = () => reject(signal!.reason)
    this.#open.add(reject)
    signal?.addEventListener('abort', abort, { once: true })
    work().then(resolve, (thrown: unknown) => reject(asError(thrown, code)))
    return promise.finally(() => {
      this.#open.delete(reject)
      signal?.removeEventListener('abort', abort)
    })
  }

  #runtime(invocation: ToolInvocation): object {
    const { services } = this.request
    const { callId, tool, signal } = invocation
    return {
      callId,
      toolName: tool,
      signal,
      progress: (text: string) => invocation.onProgress?.(text),
      update: (partial: Json) => invocation.onUpdate?.(partial),
      services,
    }
  }
}

const gone = (cause: BulkheadError) => new BulkheadError('CompartmentGone', 'The compartment ended before.', { cause })

/** The code of an error that the extension throws without one. */
type Thrown = 'ToolExecutionFailed' | 'LifecycleFailure' | 'SlotMigrationFailed'

function asError(thrown: unknown, code: Thrown): BulkheadError {
  if (BulkheadError.is(thrown)) return thrown
  const claimed: unknown = (thrown as { code?: unknown } | null)?.code
  return new BulkheadError(isErrorCode(claimed) ? claimed : code, messageOf(thrown), { cause: thrown })
}
