// Evaluated in a compartment when an extension first uses a shim, or before its code if that uses a native one.
import { asyncModule } from './async-hooks.ts'
import { commandModule } from './child-process.ts'
import { constants } from './constants.ts'
import { cryptoModule } from './crypto/module.ts'
import { channelModule } from './diagnostics-channel.ts'
import { fetchOver } from './fetch.ts'
import { fileModules } from './fs.ts'
import type { ShimHost } from './host.ts'
import { httpModules } from './http.ts'
import { socketModules } from './net.ts'
import { osModule } from './os.ts'
import { clockModule } from './perf-hooks.ts'
import { consumerModule, webStreamModule } from './stream-modules.ts'
import { threadModules } from './threads.ts'
import { ttyModule } from './tty.ts'
import { zlibModule } from './zlib.ts'

export interface ShimLibrary {
  readonly globals: Readonly<Record<string, unknown>>
  /** By name without the scheme. Undefined for an unknown name. */
  module(name: string): object | undefined
}

/** Each module is made when it is first imported. */
export function shimLibrary(host: ShimHost): ShimLibrary {
  let made: ReturnType<typeof fileModules> | undefined
  const files = (): ReturnType<typeof fileModules> => {
    made ??= fileModules(host)
    return made
  }
  const makers = new Map<string, () => object>(Object.entries({
    fs: () => files().fs, 'fs/promises': () => files()['fs/promises'],
    child_process: () => commandModule(host), ...httpModules(host), ...socketModules(host), ...threadModules(host),
    async_hooks: () => asyncModule(host), constants: () => constants.all, crypto: () => cryptoModule(host),
    diagnostics_channel: channelModule, os: () => osModule(host), perf_hooks: () => clockModule(host),
    'stream/consumers': consumerModule,
    'stream/web': webStreamModule, tty: () => ttyModule(host), zlib: () => zlibModule(host),
  }))
  const modules = new Map<string, object>()
  return {
    globals: fetchOver(host),
    module(name) {
      const module = modules.get(name) ?? makers.get(name)?.()
      if (module !== undefined) modules.set(name, module)
      return module
    },
  }
}
