// Prints the resident memory, in MB, of an idle host of the given size.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { layOutFleet, openFleet, startFleet, type FleetSize } from '../loads/fleet.ts'

const size = JSON.parse(process.argv[2]!) as FleetSize
const { workspace, remove } = await layOutFleet(size.loaded)
const host = await openFleet(workspace)
await startFleet(host, size)
// Exposed only now, because a compartment does not start if `gc` is exposed.
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
collect()
process.stdout.write(String(process.memoryUsage().rss / 1024 ** 2))
await host.close()
await remove()
