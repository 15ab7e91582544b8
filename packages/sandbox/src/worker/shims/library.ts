// Evaluated in a compartment when an extension first uses a shim. It can do nothing that the extension cannot.
import { commandModule } from './child-process.ts'
import { fetchOver } from './fetch.ts'
import { fileModules } from './fs.ts'
import type { ShimHost } from './host.ts'

export interface ShimLibrary {
  readonly globals: Readonly<Record<string, unknown>>
  /** By name without the scheme. */
  readonly modules: Readonly<Record<string, object>>
}

export const shimLibrary = (host: ShimHost): ShimLibrary =>
  ({ globals: fetchOver(host), modules: { ...fileModules(host), child_process: commandModule(host) } })
