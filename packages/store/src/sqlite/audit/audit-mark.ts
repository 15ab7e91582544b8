import { closeSync, constants, existsSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'

/** Where a chain ends. */
export interface ChainEnd {
  readonly position: number
  readonly link: string
}

export const markFile = (file: string): string => `${file}-end`

const OWNER_ONLY_FILE = 0o600
const { O_CREAT, O_WRONLY, O_NOFOLLOW = 0 } = constants
const DIGITS = 16
const FORM = /^ *([1-9]\d*) ([0-9a-f]{64})\n$/

/**
 * How far the audit had come when it was last acknowledged, in a file beside the store. SQLite takes a log as far as it can be read and
 * says nothing of the rest, so a store whose log is damaged or gone looks like one to which less was written.
 *
 * Contract: only what is on the disk is noted, so that this is never ahead of a store that is whole. It waits for nothing, and what
 * cannot be noted is not.
 */
export class AuditMark {
  readonly #file: string
  #descriptor: number | undefined

  constructor(file: string) {
    this.#file = markFile(file)
  }

  note({ position, link }: ChainEnd): void {
    try {
      this.#descriptor ??= openSync(this.#file, O_CREAT | O_WRONLY | O_NOFOLLOW, OWNER_ONLY_FILE)
      // Always as long: one write puts it in the place of the one before.
      writeSync(this.#descriptor, `${String(position).padStart(DIGITS)} ${link}\n`, 0)
    } catch {
      // The store has what it says it has all the same.
    }
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}

/** Called when the store closes. If the log is gone by then, the file is complete and may be copied or replaced. */
export function removeMark(file: string): void {
  if (!existsSync(`${file}-wal`)) rmSync(markFile(file), { force: true })
}

/** undefined where nothing was noted, or nothing that can be read. */
export function readMark(file: string): ChainEnd | undefined {
  try {
    const [, position, link] = FORM.exec(readFileSync(markFile(file), 'latin1')) ?? []
    return position === undefined || link === undefined ? undefined : { position: Number(position), link }
  } catch {
    return undefined
  }
}
