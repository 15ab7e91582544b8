import { join } from 'node:path'
import type { ConfigFile, ToolDefinition } from '@bulkhead/contract'
import type { Host, Session } from '@bulkhead/host'
import { createBundledExtensions, ToolShelf, type AgentRunner, type BundledExtension } from '@bulkhead/tools-bundled'
import { userFolder } from './loader-options.ts'

export interface BundledLayerOptions {
  /** Runs sub-agents for the tool `task`, which is refused without it. */
  readonly runAgent?: AgentRunner
  /** Hosts that `web_fetch` may reach, such as localhost:3000 beside *. Default: every public name. */
  readonly fetchHosts?: readonly string[]
}

export interface BundledLayer {
  readonly extensions: (config: ConfigFile) => readonly BundledExtension[]
  /** From here on `tool_search` finds the tools of this host. */
  attach(host: Pick<Host, 'tools' | 'on'>): void
  /** What a session's model should be shown: with many tools, the locked ones and those it has found. */
  offeredTools(session: Pick<Session, 'id' | 'tools'>): readonly ToolDefinition[]
}

/** The tools that ship with the host, wired to it. */
export function createBundledLayer({ runAgent, fetchHosts }: BundledLayerOptions, home: string): BundledLayer {
  const shelf = new ToolShelf()
  let attached: Pick<Host, 'tools'> | undefined
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
