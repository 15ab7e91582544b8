import type { Interactor } from '@bulkhead/contract'
import type { AuditChainReader } from '@bulkhead/contract/audit'
import type { Inspected } from '@bulkhead/inspector'
import type { ServerHealth } from '@bulkhead/inspector/protocol'
import { visibleText } from '@bulkhead/kit/text'
import { CaptureElsewhere } from '../capture/capture-elsewhere.ts'
import { onOutcome } from '../capture/on-outcome.ts'
import type { Host } from '../create-host.ts'
import type { Inspectable } from '../inspectable.ts'
import { CORE_VERSION } from '../version.ts'
import { makeCall } from './made-calls.ts'
import { HealthViews } from './health-view.ts'
import { PolicyViews } from './policy-view.ts'
import { questionsOf } from './questions.ts'
import { RecentCalls } from './recent-use.ts'
import { ToolViews } from './tools-view.ts'

/** A host as the inspector sees it. `interactor`: asks the people who are signed in. */
export function inspectedHost(host: Host, inside: Inspectable, interactor: Interactor): Inspected {
  const { core, places, store, id } = inside
  const chains = async (): Promise<readonly AuditChainReader[]> => {
    if (store.forgets) return []
    const several = await store.chains?.()
    return several ?? [{ name: '', records: (from, limit) => store.records(from, limit), auditSpan: () => store.auditSpan() }]
  }
  const elsewhere = store.forgets ? undefined
    : new CaptureElsewhere(store, id, (error) => core.inside.suppressed('capture of other hosts', error))
  if (elsewhere) inside.closing.add(() => elsewhere.end())
  const health = new HealthViews(host, inside, chains)
  const recent = new RecentCalls(host, chains)
  const policy = new PolicyViews(host, inside, recent, chains)
  const tools = new ToolViews(host, inside, recent)
  return {
    version: CORE_VERSION, host: id, workspace: () => places.workspace, scope: store.forgets ? 'host' : 'store',
    on: (listener, types) => host.on(listener, types),
    onUse: (listener) => core.inside.onUse(({ sessionId, callId, readBytes, writtenBytes, ...use }) =>
      listener({ ...use, session: sessionId, call: callId, bytesRead: readBytes, bytesWritten: writtenBytes })),
    capture(listener) {
      elsewhere?.begin()
      const stop = onOutcome(core.inside, listener)
      return () => {
        stop()
        void elsewhere?.end()
      }
    },
    capturedElsewhere: async (session, call) => elsewhere?.call(session, call),
    questions: questionsOf(host, inside),
    chains,
    hosts: () => host.hosts(),
    tools: (session) => tools.view(session),
    toolInput: (tool) => tools.input(tool),
    makeCall: (call) => makeCall(inside, interactor, call),
    switchTool: (session, tool, on) => tools.switch(session, tool, on),
    previewInstall: (source) => tools.preview(source),
    policy: () => policy.view(),
    tryCall: (call) => policy.tryCall(call),
    async health() {
      const view = await health.view()
      const others = await elsewhere?.servers().catch(() => []) ?? []
      return { ...view, servers: [...view.servers, ...others.flatMap((name) => serverElsewhere(name, view.servers))] }
    },
    watchFrames(server, listener) {
      const watch = places.servers.watchFrames(server, (frame) => listener({ ...frame, server }))
      if (watch === undefined && elsewhere?.isOn !== true) return undefined
      const endElsewhere = elsewhere?.watch(server, listener)
      return {
        first: () => watch?.first().map((frame) => ({ ...frame, server })) ?? [],
        stop() {
          watch?.stop()
          endElsewhere?.()
        },
      }
    },
  }
}

/** A server that only other processes have. They say no more of it than its name. */
const serverElsewhere = (name: string, known: readonly ServerHealth[]): readonly ServerHealth[] => {
  const shown = visibleText(name)
  return known.some((server) => server.name === shown) ? []
    : [{ name: shown, address: '', state: 'of another process', restarts: 0, walls: [], frames: true }]
}
