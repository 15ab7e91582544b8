import { join } from 'node:path'
import type { ConfigFile, ToolDefinition } from '@bulkhead/contract'
import type { Host as CoreHost, Session } from '@bulkhead/host'
import { type AgentRunner, type BundledExtension, createBundledExtensions, ToolShelf } from '@bulkhead/tools-bundled'
import { userFolder } from './loader-options.ts'

export interface BundledLayerOptions {
  /** Runs sub-agents for the tool `task`. Without it, `task` fails. */
  readonly runAgent?: AgentRunner
  /** Hosts that `web_fetch` and `http_request` may access, such as `['*', 'localhost:3000']`. Default: every public host. */
  readonly fetchHosts?: readonly string[]
}

export interface BundledLayer {
  readonly extensions: (config: ConfigFile) => readonly BundledExtension[]
  /** Makes the tools of this host available to `tool_search`. */
  attach(host: Pick<CoreHost, 'tools' | 'on'>): void
  /** The tools to show to the model of a session. With many tools: the locked ones and those found by `tool_search`. */
  offeredTools(session: Pick<Session, 'id' | 'tools'>): readonly ToolDefinition[]
}

/** The tools that ship with the host, wired to it. */
export function createBundledLayer({ runAgent, fetchHosts }: BundledLayerOptions, home: string): BundledLayer {
  const shelf = new ToolShelf()
  let attached: Pick<CoreHost, 'tools'> | undefined
  return {
    extensions: ({ search, skills = {} }) => createBundledExtensions({
      runAgent, fetchHosts, search,
      catalog: { tools: () => attached?.tools() ?? [], found: (sessionId, names) => shelf.found(sessionId, names) },
      skills: { userFolder: join(userFolder(home), 'skills'), paths: skills.paths },
    }).filter(({ manifest }) => skills.enabled !== false || manifest.id !== 'skill'),
    attach(host) {
      attached = host
      host.on((event) => {
        if (event.type === 'SessionClosed') shelf.forget(event.sessionId)
      }, ['SessionClosed'])
    },
    offeredTools: (session) => shelf.offered(session.id, session.tools()),
  }
}
