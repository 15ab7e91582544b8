import {
  BulkheadError, portablePower, type CompartmentEnd, type CompartmentRequest, type CompartmentSession, type CompartmentTool,
  type LifecyclePhase, type Placement, type RemoteCode, type StoredState, type ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import type { FleetCaller } from './fleet-caller.ts'
import { RemoteCall } from './remote-call.ts'

/** What a remote session is made of. */
export interface RemoteSources {
  readonly connect: () => Promise<FleetCaller>
  readonly request: CompartmentRequest
  readonly remote: RemoteCode
}

/**
 * An extension whose calls run on workers. What only decides, approval keys and migrations of state, runs here: if all
 * calls run elsewhere, in a compartment without powers. Workers run the phases for each compartment that they open.
 */
export class RemoteSession implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly #sources: RemoteSources
  readonly #local: CompartmentSession
  readonly #tools: ReadonlyMap<string, CompartmentTool>
  readonly #calls = new Set<RemoteCall>()

  /** `local`: the same code, here. */
  constructor(sources: RemoteSources, local: CompartmentSession) {
    const { phases, approvalKeys, reverts } = local.offers
    const { request, remote } = sources
    this.id = local.id
    this.placement = local.placement
    this.offers = { phases: remote.runsOn ? new Set() : phases, approvalKeys, ...(reverts && { reverts }) }
    this.ended = local.ended
    this.#sources = sources
    this.#local = local
    this.#tools = new Map(request.tools.map((tool) => [tool.name, tool]))
  }

  get quiet(): CompartmentSession['quiet'] {
    return this.#local.quiet
  }

  get inFlight(): number {
    return this.#calls.size + this.#local.inFlight
  }

  /** Workers run the phases, if all calls run there. */
  async lifecycle(phase: LifecyclePhase): Promise<void> {
    if (this.#sources.remote.runsOn === undefined) await this.#local.lifecycle(phase)
  }

  async call(invocation: ToolInvocation): Promise<Json> {
    const { request, remote, connect } = this.#sources
    const runsOn = invocation.runsOn ?? remote.runsOn
    if (runsOn === undefined) return this.#local.call(invocation)
    const caller = await connect()
    const tool = this.#tools.get(invocation.tool)
    const { id } = request.extension
    if (tool === undefined) throw new BulkheadError('ToolNotRegistered', `The extension ${id} has no tool ${invocation.tool}.`)
    const grant = invocation.grant ?? tool.grant
    const { fs, shell, net } = portablePower(grant, caller.options.variables)
    const needsWorkspace = shell.length > 0 || [...fs.read, ...fs.write].some((path) => path.startsWith('{workspace}'))
    const isJudged = [fs.read, fs.write, shell, net.hosts].some(({ length }) => length > 0)
    if (needsWorkspace && runsOn.workspace === undefined) {
      const message = `"${tool.name}" uses the workspace, and no worker has this folder under a known name. Set `
        + `runsOn.workspace, of extensions.${id} or of the rule, to the name that workers give it with --workspace.`
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    if (isJudged && invocation.uses !== undefined) {
      const message = `Rules judge what "${tool.name}" uses while it runs, and a worker does not have them. Let the rules `
        + `judge the whole tool, or remove runsOn.`
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const call = new RemoteCall({ caller, request, remote, runsOn }, invocation, grant, needsWorkspace)
    this.#calls.add(call)
    try {
      return await call.run()
    } finally {
      this.#calls.delete(call)
    }
  }

  deriveApprovalKey(tool: string, args: JsonObject, signal: AbortSignal): Promise<string> {
    return this.#local.deriveApprovalKey(tool, args, signal)
  }

  migrateState(stored: StoredState, signal: AbortSignal): Promise<Json> {
    return this.#local.migrateState(stored, signal)
  }

  close(reason = new BulkheadError('ToolCancelled', 'The compartment was closed.')): Promise<void> {
    for (const call of this.#calls) call.end(reason)
    return this.#local.close(reason)
  }
}
