import { loadLateLibraries } from '@bulkhead/host'
import { schemaThread } from '@bulkhead/loader'
import { auditThread } from '@bulkhead/store'
import { loadLateCode as loadBundled } from '@bulkhead/tools-bundled'
import type { ConnectedServers } from './connected-servers.ts'
import { loadPrompts } from './terminal/terminal-interactor.ts'

/**
 * Loads the code that a tool can make the host load, before third-party code runs: what the disk holds afterwards makes no difference.
 * The code that needs a part reports it where it cannot be loaded.
 */
export async function loadLateCode(servers: ConnectedServers): Promise<void> {
  loadLateLibraries()
  const threads = [schemaThread, auditThread].map((thread) => thread.load().catch(() => undefined))
  await Promise.all([loadBundled(), servers.loadLateCode(), loadPrompts(), ...threads])
}
