import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** A limit that Linux keeps for each process and has not looked at since 2.4: whoever is below a server has its number. */
const LINE = 'Max file locks'
/** Above whatever anybody would set. */
const LEAST = 2 ** 40

/** The number of one server among the limits of its processes, and the option of `prlimit` that gives it. */
export interface RunMark {
  readonly number: number
  readonly option: string
}

export function newMark(): RunMark {
  const number = LEAST + randomInt(LEAST)
  return { number, option: `--locks=${number}` }
}

/** Whether this process was not itself given a number, below which there is no other. */
export const isUnmarked = (): boolean => /^unlimited +unlimited /.test(limitOf('self') ?? '')

/** Kills whoever has the number, and whom they have started meanwhile. At once: there may be no later turn. */
export function killMarked({ number }: RunMark): void {
  for (let looks = 0; looks < LOOKS; looks++) {
    const found = processes().filter((pid) => limitOf(pid)?.includes(` ${number} `))
    if (found.length === 0) return
    for (const pid of found) {
      try {
        process.kill(Number(pid), 'SIGKILL')
      } catch {
        // It has ended by itself.
      }
    }
  }
}

/** One that was killed is there until its parent has asked for its end. */
const LOOKS = 3

function processes(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

function limitOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/limits`, 'latin1').split('\n').find((line) => line.startsWith(LINE))?.slice(LINE.length).trimStart()
  } catch {
    return undefined
  }
}
