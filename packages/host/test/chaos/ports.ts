import type {
  CompartmentRequest, CompartmentSession, EventListener, Interactor, LoadReport, Sandbox, Seat, Store, Work,
} from '@bulkhead/contract'
import type { Guard, Hooks, CallCheck, Sidecar, SmokeCheck } from '../../src/index.ts'
import type { Crossings } from './crossings.ts'

/** The same port, with every call and return counted. */
export function crossedStore(store: Store, crossings: Crossings): Store {
  return {
    read: crossings.port('store.read', (collection, key) => store.read(collection, key)),
    write: crossings.port('store.write', (collection, key, value) => store.write(collection, key, value)),
    remove: crossings.port('store.remove', (collection, key) => store.remove(collection, key)),
    update: crossings.port('store.update', (collection, key, change) => store.update(collection, key, change)),
    list: crossings.port('store.list', (collection, prefix) => store.list(collection, prefix)),
    append: crossings.port('store.append', (record) => store.append(record)),
    appendAll: crossings.port('store.appendAll', (records) => store.appendAll!(records)),
    work: crossedWork(store.work!, crossings),
    records: (from, limit) => store.records(from, limit),
    auditSpan: () => store.auditSpan(),
    close: () => store.close(),
  }
}

/** What a call waits for can be refused, or something else can end meanwhile. A seat has time limits of its own. */
function crossedWork(work: Work, crossings: Crossings): Work {
  const strike = (port: string) => {
    if (crossings.strike(port, ['throw', 'kill', 'close-store']) === 'throw') throw new Error('chaos')
  }
  const crossedSeat = (seat: Seat): Seat => ({
    id: seat.id,
    open(call) {
      const entry = seat.open(call)
      return {
        async start(start) {
          strike('work.start')
          return entry.start(start)
        },
        begin(effect) {
          strike('work.begin')
          return entry.begin(effect)
        },
        end: () => entry.end(),
      }
    },
    describe: (description) => seat.describe(description),
    show: (kind, id, row) => seat.show(kind, id, row),
    hide: (kind, id) => seat.hide(kind, id),
    takeOver: crossings.port('work.takeOver', (host) => seat.takeOver(host)),
    discard: crossings.port('work.discard', (host) => seat.discard(host)),
    settled: () => seat.settled(),
    leave: () => seat.leave(),
  })
  return {
    join: crossings.port('work.join', async (host, listener) => crossedSeat(await work.join(host, listener))),
    hosts: crossings.port('work.hosts', () => work.hosts()),
    isGone: crossings.port('work.isGone', (host) => work.isGone(host)),
    revision: crossings.port('work.revision', () => work.revision()),
    frozen: crossings.port('work.frozen', () => work.frozen()),
    freeze: (freeze) => work.freeze(freeze),
    thaw: () => work.thaw(),
  }
}

/** `open`: the real compartment, so that the test can kill it. */
export function crossedSandbox(open: Sandbox['open'], crossings: Crossings): Sandbox {
  const opened = async (request: CompartmentRequest) => crossedSession(await open(request), crossings)
  return { open: crossings.port('sandbox.open', opened), close: async () => {} }
}

function crossedSession(session: CompartmentSession, crossings: Crossings): CompartmentSession {
  return {
    id: session.id,
    placement: session.placement,
    offers: session.offers,
    ended: session.ended,
    get inFlight() {
      return session.inFlight
    },
    get quiet() {
      return session.quiet
    },
    lifecycle: crossings.port('compartment.lifecycle', (phase) => session.lifecycle(phase)),
    call: crossings.port('compartment.call', (invocation) =>
      session.call({
        callId: invocation.callId, tool: invocation.tool, args: invocation.args, signal: invocation.signal,
        onProgress: (text) => {
          const fault = crossings.strike('compartment.progress', ['twice', 'kill', 'close-store'])
          for (const _ of fault === 'twice' ? [1, 2] : [1]) invocation.onProgress?.(text)
        },
      }),
    ),
    deriveApprovalKey: crossings.port('compartment.key', (tool, args, signal) =>
      session.deriveApprovalKey(tool, args, signal),
    ),
    migrateState: crossings.port('compartment.migrate', (stored, signal) => session.migrateState(stored, signal)),
    close: crossings.port('compartment.close', (reason) => session.close(reason)),
  }
}

export const crossedInteractor = (interactor: Interactor, crossings: Crossings): Interactor =>
  ({ interact: crossings.port('interactor', (envelope, signal) => interactor.interact(envelope, signal)) })

export const crossedHooks = (crossings: Crossings): Hooks => ({
  beforeToolExecution: crossings.port('hook.before', async () => true),
  afterToolExecution: crossings.port('hook.after', async () => {}),
  onBeforeTool: crossings.sink('hook.onBeforeTool', () => {}),
  onAfterTool: crossings.sink('hook.onAfterTool', () => {}),
  onToolError: crossings.sink('hook.onToolError', () => {}),
  onPermissionDenied: crossings.sink('hook.onPermissionDenied', () => {}),
})

/** Before the call and after it. */
export const crossedGuard = (crossings: Crossings): Guard => ({
  id: 'guard',
  pre: crossings.port('guard.pre', async () => undefined),
  post: crossings.port('guard.post', async () => undefined),
})

export const crossedWatchdog = (name: string, watchdog: CallCheck, crossings: Crossings): CallCheck =>
  crossings.port(name, async (call, signal) => watchdog(call, signal))

export const crossedSidecar = (
  sidecar: Required<Pick<Sidecar, 'save' | 'discard'>>, crossings: Crossings,
): Sidecar => ({
  save: crossings.port('sidecar.save', (sessionId, callId, text) => sidecar.save(sessionId, callId, text)),
  discard: crossings.port('sidecar.discard', (sessionId) => sidecar.discard(sessionId)),
})

export const crossedListener = (listener: EventListener, crossings: Crossings): EventListener =>
  crossings.sink('listener', listener)

export const crossedSource = (load: () => Promise<LoadReport>, crossings: Crossings) =>
  ({ load: crossings.port('source.load', load) })

export const crossedSmokeCheck = (crossings: Crossings): SmokeCheck => crossings.port('smoke check', async () => {})
