import { loadLateLibraries } from '@bulkhead/host'
import { loadLateCode as loadBundled } from '@bulkhead/tools-bundled'
import type { ConnectedServers } from './connected-servers.ts'
import { loadPrompts } from './terminal/terminal-interactor.ts'

/** Loads what a tool can make the host load, before code of strangers runs: what is on the disk afterwards makes no difference. */
export async function loadLateCode(servers: ConnectedServers): Promise<void> {
  loadLateLibraries()
  await Promise.all([loadBundled(), servers.loadLateCode(), loadPrompts()])
}
