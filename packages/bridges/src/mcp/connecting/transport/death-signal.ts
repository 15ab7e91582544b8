import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'

const PLACES = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/sbin/setpriv']
const OPTIONS = ['--pdeathsig', 'KILL', '--']

let found: Promise<readonly string[]> | undefined

/**
 * What to put before a command so that the system kills it when this process is killed; nothing where the system cannot.
 * Contract: rejects while that cannot be found out, as the command itself could not be started then.
 */
export function deathSignal(): Promise<readonly string[]> {
  found ??= find().catch((error: unknown) => {
    found = undefined
    throw error
  })
  return found
}

async function find(): Promise<readonly string[]> {
  const path = process.platform === 'linux' ? PLACES.find(isExecutable) : undefined
  return path !== undefined && await knowsOptions(path) ? [path, ...OPTIONS] : []
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** There is more than one program of this name. */
function knowsOptions(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, [...OPTIONS, path, '--version'], { cwd: '/', env: {}, stdio: 'ignore' })
    child.once('error', reject)
    child.once('exit', (code) => resolve(code === 0))
  })
}
