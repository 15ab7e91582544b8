import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { hasProcessMark } from '@bulkhead/kit/process-mark'
import { isResourceShortage } from './resources.ts'
import { RUN_VARIABLE } from '../shell/environment.ts'

/** A process as Linux shows it. */
export interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since the system started. With the pid it names one process for ever, which the pid alone does not. */
  readonly started: number
  /** Only its exit code is left, until its parent asks for it. */
  readonly ended: boolean
}

/** Undefined for a process that its parent has taken leave of, and where there is no /proc. */
export function processRow(pid: number): ProcessRow | undefined {
  try {
    return parse(pid, readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return undefined
  }
}

/**
 * Every process that has not ended. Contract: never rejects; empty where there is no /proc, undefined where it cannot be read for
 * now, as in a host that has no descriptors left.
 */
export async function processTable(): Promise<readonly ProcessRow[] | undefined> {
  const names = await readdir('/proc').catch((error: unknown) => isResourceShortage(error) ? undefined : [])
  const pids = names?.filter((name) => /^\d+$/.test(name)).map(Number)
  const texts = pids && await Promise.all(pids.map((pid) => textOf(pid, 'stat')))
  if (texts === undefined || texts.includes(undefined)) return undefined
  return pids!.map((pid, index) => parse(pid, texts[index]!)).filter((row) => row !== undefined).filter(({ ended }) => !ended)
}

/** Whether a process was started with the marker of a run in its environment. Contract: never rejects; undefined as above. */
export async function carriesMarker(pid: number, marker: string): Promise<boolean | undefined> {
  return (await textOf(pid, 'environ'))?.split('\0').includes(`${RUN_VARIABLE}=${marker}`)
}

/** Whether a process has the number of a run among its limits. Contract: as above. */
export async function carriesMark(pid: number, mark: number): Promise<boolean | undefined> {
  const limits = await textOf(pid, 'limits')
  return limits === undefined ? undefined : hasProcessMark(limits, mark)
}

/** Nothing of a process that is gone, or another user's. */
const textOf = (pid: number, name: 'stat' | 'environ' | 'limits'): Promise<string | undefined> =>
  readFile(`/proc/${pid}/${name}`, 'latin1').catch((error: unknown) => isResourceShortage(error) ? undefined : '')

/** The name of the program stands in brackets and may hold brackets and blanks itself; what follows are plain fields. */
function parse(pid: number, text: string): ProcessRow | undefined {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const number = (index: number): number => Number(fields[index])
  if (fields.length < 20) return undefined
  const ended = fields[0] === 'Z' || fields[0] === 'X'
  return { pid, parent: number(1), group: number(2), session: number(3), started: number(19), ended }
}
