import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { markOption, newProcessMark } from '@bulkhead/kit/process-mark'
import { canMark } from './run-mark.ts'

const FOLDERS = ['/usr/bin', '/bin', '/usr/sbin']
const DEATH = ['--pdeathsig', 'KILL', '--']

/** What of the system holds a process. */
export interface Holders {
  /** What to put before a command so that the system kills it when this process is killed; nothing where the system cannot. */
  readonly deathSignal: readonly string[]
  /** The program that gives a number to it and to whatever it starts; undefined where there is none. */
  readonly prlimit: string | undefined
}

let found: Promise<Holders> | undefined

/** Contract: rejects while that cannot be found out, as the command itself could not be started then. */
export function holders(): Promise<Holders> {
  found ??= find().catch((error: unknown) => {
    found = undefined
    throw error
  })
  return found
}

async function find(): Promise<Holders> {
  const [setpriv, prlimit] = process.platform === 'linux' ? ['setpriv', 'prlimit'].map(pathOf) : []
  const [dies, marks] = await Promise.all([
    setpriv !== undefined && succeeds(setpriv, DEATH), prlimit !== undefined && canMark() && succeeds(prlimit, [markOption(newProcessMark()), '--']),
  ])
  return { deathSignal: dies ? [setpriv!, ...DEATH] : [], prlimit: marks ? prlimit : undefined }
}

const pathOf = (name: string): string | undefined => FOLDERS.map((folder) => `${folder}/${name}`).find(isExecutable)

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** There is more than one program of these names. */
function succeeds(path: string, options: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, [...options, path, '--version'], { cwd: '/', env: {}, stdio: 'ignore' })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}
