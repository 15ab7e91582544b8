import { BulkheadError, LONGEST_TIMER_MS, type CompartmentCode, type CompartmentRequest } from '@bulkhead/contract'
import { openToDebugger } from '../os/os-layer.ts'
import { osLayersFor, type OsMode } from '../os/os-layers.ts'
import { loadImage } from '../process/image.ts'
import { processStarter } from '../process/process-hull.ts'
import { HullPool } from './hull-pool.ts'

/** For a developer: opens a debugger in each compartment with code that was built from a folder by this process. */
export interface Inspection {
  /** Gets the address of each debugger. Contract: must not throw. */
  onListening(address: string): void
}

/** Code of an installed package has no origins, so no debugger is ever opened for it. */
export const isInspected = (inspection: Inspection | undefined, { code }: CompartmentRequest): boolean =>
  inspection !== undefined && code.kind === 'files' && code.origins !== undefined

/** One process without deadlines of its own: a person may stop the code anywhere. */
export const patiently = (request: CompartmentRequest): CompartmentRequest => ({
  ...request, placement: 'process', concurrency: 1, code: withSourceMaps(request.code),
  limits: { ...request.limits, startMs: LONGEST_TIMER_MS, phaseMs: LONGEST_TIMER_MS },
})

/** A debugger shows the written files. */
function withSourceMaps(code: CompartmentCode): CompartmentCode {
  if (code.kind === 'module') return code
  const files = [...code.files].map(([path, bytes]): [string, Uint8Array] => {
    const map = code.origins?.sourceMapOf(path)
    if (map === undefined) return [path, bytes]
    const url = `data:application/json;base64,${Buffer.from(map).toString('base64')}`
    return [path, Buffer.concat([bytes, Buffer.from(`\n//# sourceMappingURL=${url}\n`)])]
  })
  return { ...code, files: new Map(files) }
}

/** Processes with a debugger. They keep the walls that leave a socket on the loopback interface. */
export const inspectedPool = (inspection: Inspection, os: OsMode, most: number): HullPool => new HullPool({
  starter: async () => {
    if (os === 'require') throw new BulkheadError('CapabilityUnavailable', NEEDS_WALLS)
    const [image, layers] = await Promise.all([loadImage(), osLayersFor(os)])
    return { start: processStarter(image, openToDebugger(layers), (address) => inspection.onListening(address)) }
  },
  beforeSpares: async () => undefined, most, spares: 0, crowded: () => undefined,
})

const NEEDS_WALLS = 'A debugger needs a process without some of its walls, and sandbox.os is "require". '
  + 'Set it to "auto" while you debug, or leave out --inspect.'
