// An update that ends at each of its writes in turn: `pnpm soak`.
import { dieAtWrites } from '../test/install/die-at-writes.ts'

const count = await dieAtWrites(1)
if (count < 13) throw new Error(`There were ${count} writes only, which are not all of an update.`)
console.log(`Ended at each of ${count} writes, an update leaves the previous state or the new one.`)
