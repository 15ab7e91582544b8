// Prints the resident memory, in MB, of a process that is a host with all it was asked to carry and does nothing.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { crewFleet, layOutFleet, openFleet } from '../loads/fleet.ts'
import type { FleetSize } from '../sides/host-fleet.ts'

const size = JSON.parse(process.argv[2]!) as FleetSize
const { workspace, remove } = await layOutFleet(size.loaded)
const host = await openFleet(workspace)
await crewFleet(host, size)
// Only now: a compartment refuses to start where the collector can be reached.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
collect()
process.stdout.write(String(process.memoryUsage().rss / 1024 ** 2))
await host.close()
await remove()
