import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { openSqliteStore } from '../../src/index.ts'
import { confirm, type AcknowledgementLog } from './acknowledgement-log.ts'
import { runWriter } from './writer-process.ts'

const ROUNDS_ON_A_FILE = 5
const MOST_LINES = 600

export interface KillOptions {
  readonly rounds: number
  /** Chooses when each writer is killed. */
  readonly seed: number
  /** Called after the rounds on one file. */
  readonly onFile?: (round: number, acknowledged: number) => void
}

/**
 * Kills writer processes at random times, several in a row on one file, and checks all acknowledged writes after each
 * kill. The first writer of a file is killed while it creates the file. In the last round two writers run and are
 * killed together. Returns the number of acknowledged appends.
 */
export async function killRounds(folder: string, { rounds, seed, onFile }: KillOptions): Promise<number> {
  // A writer that exits normally fills the compile cache for those that are killed.
  await runWriter(join(folder, 'rehearsal.db'), 'rehearsal', { bursts: 1 })
  let acknowledged = 0
  for (let first = 0; first < rounds; first += ROUNDS_ON_A_FILE) {
    const here = Math.min(ROUNDS_ON_A_FILE, rounds - first)
    const logs = await killOnOneFile(join(folder, `${first}.db`), here, `${seed} ${first}`)
    acknowledged += logs.reduce((sum, log) => sum + log.acknowledged, 0)
    onFile?.(first + here, acknowledged)
  }
  return acknowledged
}

async function killOnOneFile(file: string, rounds: number, seed: string): Promise<readonly AcknowledgementLog[]> {
  const logs: AcknowledgementLog[] = []
  for (let round = 0; round < rounds; round++) {
    const names = round === rounds - 1 ? [`${round}a`, `${round}b`] : [`${round}`]
    // The first line is printed before the file is opened.
    const linesOf = (name: string) => round === 0 ? 1 : 2 + Math.floor(chance(`${seed} ${name}`) ** 2 * MOST_LINES)
    const runs = await Promise.all(names.map((name) => runWriter(file, name, { lines: linesOf(name) })))
    for (const { signal, exitCode, log } of runs) {
      if (signal !== 'SIGKILL') {
        throw new Error(`writer ${log.writer} was not killed but ended with ${String(exitCode)}`)
      }
      logs.push(log)
    }
    const store = await openSqliteStore({ file })
    await confirm(store, logs)
    await store.close()
  }
  return logs
}

/** A number in [0, 1) that depends only on the seed. */
const chance = (seed: string): number => createHash('sha256').update(seed).digest().readUInt32LE() / 2 ** 32
