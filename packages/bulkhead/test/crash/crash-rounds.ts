import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createHost, openSqliteStore } from '../../src/index.ts'
import { BUNDLED } from '../bundled.ts'
import { CACHE } from '../cache.ts'
import { writeExtension } from '../extension-folder.ts'

const HOST = fileURLToPath(new URL('./fixtures/counting-host.ts', import.meta.url))
const MOST_LINES = 40
/** What a killed host had acknowledged. */
interface Witness {
  counted: number
  readonly began: string[]
  readonly paused: string[]
}

export interface CrashOptions {
  readonly rounds: number
  /** Chooses when each host is killed. */
  readonly seed: number
  readonly onRound?: (round: number, counted: number) => void
}

/**
 * Kills a host that counts, hangs and waits for an answer, several times at random on one store. Checks each time that
 * the next host finds everything that was acknowledged. Returns the number of acknowledged calls.
 */
export async function crashRounds(folder: string, { rounds, seed, onRound }: CrashOptions): Promise<number> {
  writeCounter(folder)
  let counted = 0
  for (let round = 0; round < rounds; round++) {
    const witness = await killedHost(folder, linesOf(seed, round))
    if (witness.counted !== 0 && witness.counted <= counted)
      throw new Error(`counted ${witness.counted} after ${counted}`)
    counted = await confirm(folder, witness, Math.max(counted, witness.counted))
    onRound?.(round + 1, counted)
  }
  return counted
}

/** After how many lines the host of a round is killed. Random, but the same for the same seed. */
const linesOf = (seed: number, round: number): number =>
  1 + createHash('sha256').update(`${seed} ${round}`).digest().readUInt32LE() % MOST_LINES

/** Reopens the store. Returns the value of the counter. */
async function confirm(folder: string, { began, paused }: Witness, least: number): Promise<number> {
  const store = await openSqliteStore({ file: join(folder, 'host.db') })
  const config = { isolation: { global: 'thread' }, sandbox: { spares: { thread: 0 } } } as const
  const host = await createHost({ workspace: folder, home: join(folder, 'home'), cache: CACHE, store, config })
  try {
    const interrupted = await host.interruptedCalls()
    for (const id of began) {
      const closed = interrupted.find(({ outcome }) => outcome.metadata.call_id === id)
      if (closed?.outcome.error.code !== 'CallInterrupted')
        throw new Error(`the call ${id} had begun and was not closed`)
    }
    const session = await host.openSession({ mode: 'yolo' })
    for (const id of paused) {
      const resumed = await session.resume(id, 'because')
      if (resumed.type === 'error' || resumed.data !== 'because') {
        throw new Error(`the paused call ${id} came to ${JSON.stringify(resumed)}`)
      }
    }
    const outcome = await session.call({ id: 'c', name: 'count', arguments: {} })
    if (outcome.type !== 'output' || !(Number(outcome.data) > least)) {
      throw new Error(`${least} was acknowledged, and then came ${JSON.stringify(outcome)}`)
    }
    return Number(outcome.data)
  } finally {
    await host.close()
  }
}

async function killedHost(folder: string, lines: number): Promise<Witness> {
  const child = spawn(process.execPath, [...BUNDLED, HOST, folder, CACHE], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { NODE_COMPILE_CACHE: join(folder, 'compiled'), ...process.env },
  })
  const witness: Witness = { counted: 0, began: [], paused: [] }
  let rest = ''
  let received = 0
  child.stdout.setEncoding('utf8')
  child.stdout.on('data', (chunk: string) => {
    const whole = (rest + chunk).split('\n')
    rest = whole.pop() ?? ''
    for (const [what, value = ''] of whole.map((line) => line.split(' '))) {
      if (what === 'counted') witness.counted = Number(value)
      if (what === 'began') witness.began.push(value)
      if (what === 'paused') witness.paused.push(value)
    }
    received += whole.length
    if (received >= lines) child.kill('SIGKILL')
  })
  await once(child, 'close')
  if (child.signalCode !== 'SIGKILL') throw new Error(`the host ended by itself with ${child.exitCode}`)
  return witness
}

function writeCounter(folder: string): void {
  writeExtension(join(folder, 'home'), {
    id: 'counter',
    stateSlot: { slotVersion: '1', schema: { type: 'integer' } },
    tools: [{ name: 'count' }, { name: 'hang' }, { name: 'wonder', requires: { capabilities: ['interact'] } }],
  }, `export default { tools: {
    count: { async execute(_, runtime) {
      const next = (await runtime.state.read() ?? 0) + 1
      await runtime.state.write(next)
      return next
    } },
    hang: { execute: () => new Promise(() => {}) },
    wonder: { execute: (_, runtime) => runtime.interact.ask('Why?') },
  } }`)
}
