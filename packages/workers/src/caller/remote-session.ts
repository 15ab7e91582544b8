import {
  BulkheadError, portablePower, type CompartmentEnd, type CompartmentSession, type CompartmentTool, type Placement, type StoredState,
  type ToolInvocation,
} from '@bulkhead/contract'
import type { Json, JsonObject } from '@bulkhead/kit/json'
import { RemoteCall, type RemotePlace } from './remote-call.ts'

/**
 * An extension whose calls run on workers. What only decides, approval keys and migrations of state, runs here in a
 * compartment without powers; what acts runs there. Workers run the phases for each compartment that they open.
 */
export class RemoteSession implements CompartmentSession {
  readonly id: string
  readonly placement: Placement
  readonly offers: CompartmentSession['offers']
  readonly ended: Promise<CompartmentEnd>
  readonly quiet = undefined
  readonly #place: RemotePlace
  readonly #local: CompartmentSession
  readonly #tools: ReadonlyMap<string, CompartmentTool>
  readonly #calls = new Set<RemoteCall>()

  /** `local`: the same code, without powers. */
  constructor(place: RemotePlace, local: CompartmentSession) {
    const { approvalKeys, reverts } = local.offers
    this.id = local.id
    this.placement = local.placement
    this.offers = { phases: new Set(), approvalKeys, ...(reverts && { reverts }) }
    this.ended = local.ended
    this.#place = place
    this.#local = local
    this.#tools = new Map(place.request.tools.map((tool) => [tool.name, tool]))
  }

  get inFlight(): number {
    return this.#calls.size + this.#local.inFlight
  }

  /** Workers run the phases. */
  async lifecycle(): Promise<void> {
    await Promise.resolve()
  }

  async call(invocation: ToolInvocation): Promise<Json> {
    const tool = this.#tools.get(invocation.tool)
    const { request: { extension: { id } }, remote: { runsOn } } = this.#place
    if (tool === undefined) throw new BulkheadError('ToolNotRegistered', `The extension ${id} has no tool ${invocation.tool}.`)
    const grant = invocation.grant ?? tool.grant
    const { fs, shell, net } = portablePower(grant, this.#place.caller.options.variables)
    const needsWorkspace = shell.length > 0 || [...fs.read, ...fs.write].some((path) => path.startsWith('{workspace}'))
    const isJudged = [fs.read, fs.write, shell, net.hosts].some(({ length }) => length > 0)
    if (needsWorkspace && runsOn.workspace === undefined) {
      const message = `"${tool.name}" uses the workspace, and no worker has this folder under a known name. Set `
        + `extensions.${id}.runsOn.workspace to the name that workers give it with --workspace.`
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    if (isJudged && invocation.uses !== undefined) {
      const message = `Rules judge what "${tool.name}" uses while it runs, and a worker does not have them. Let the rules `
        + `judge the whole tool, or remove extensions.${id}.runsOn.`
      throw new BulkheadError('CapabilityUnavailable', message)
    }
    const call = new RemoteCall(this.#place, invocation, grant, needsWorkspace)
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
