// Stops an update at each of its writes in turn: `pnpm soak`.
import { dieAtWrites } from '../test/install/die-at-writes.ts'

const count = await dieAtWrites(1)
if (count < 13) throw new Error(`An update has only ${count} writes, which is too few.`)
console.log(`Stopped at each of ${count} writes, an update leaves the previous or the new state.`)
