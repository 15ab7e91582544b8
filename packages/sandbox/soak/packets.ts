// Sends 100,000 packets of every kind to the gate: `pnpm soak`. `--packets` sets the number, `--seed` repeats a run. An
// uncaught error ends it too.
import { parseArgs } from 'node:util'
import { checkPackets } from '../test/gate-property/check-packets.ts'

const { values } = parseArgs({
  options: {
    packets: { type: 'string', default: '100000' }, seed: { type: 'string', default: `${Date.now() % 2 ** 32}` },
  },
})
const packets = Number(values.packets)
await checkPackets(packets, Number(values.seed)).catch((error: unknown) => {
  throw new Error(`It does not hold with --packets ${packets} --seed ${values.seed}.`, { cause: error })
})
process.stdout.write(`The gate holds against ${packets} packets with --seed ${values.seed}.\n`)
